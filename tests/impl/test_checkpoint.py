"""The checkpoint batcher with real threads and clients that do as they are told: nothing lost, nothing told twice, everybody told."""
from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from slotwise.impl import checkpoint_client as errors
from slotwise.impl.checkpoint import FEWEST_CALLS, UNCOUNTED, Answer, CheckpointBatcher, CheckpointError, Misuse, Page, Update
from slotwise.impl.checkpoint_waits import Item
from slotwise.spec import batching_vocabulary as v

from .checkpoint_fake import LONG, QUICK, Fake, Once, Script, batcher, stepwise, threads, wait_for

# producers ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["slotwise", FEWEST_CALLS, UNCOUNTED, "aws-durable-3.0.0"], ids=["slotwise", "fewest calls", "uncounted", "shipped"])
def test_64_producers(profile: v.Profile | str) -> None:
    """Nothing is lost, nothing doubled, and each producer's order is kept; what is durable is so before its producer goes on."""
    once, number = Once(), 12

    def together(request: int, updates: list[Update]) -> None:
        if request == 1:                                                            # else each may come and go before the next one starts
            wait_for(lambda: len(it._kept._blocked) == 64)

    client = Fake(together, delay=0.002)

    def produce(who: int) -> None:
        with it.running():
            for i in range(number):
                it.submit(f"{who}.{i}", b"start", sync=False)
                if i % 3 == 0:
                    with it.outside():
                        time.sleep(0.001)
                assert once.submit(it, f"{who}.{i}")
                assert client.names.count(f"{who}.{i}") == 2

    with batcher(client, profile) as it, threads(*(partial(produce, who) for who in range(64))):
        pass
    assert once.told == {f"{who}.{i}": "ok" for who in range(64) for i in range(number)}
    for who in range(64):
        assert [name for name in client.names if name.startswith(f"{who}.")] == [f"{who}.{i}" for i in range(number) for _ in "ab"]
    assert [update.body for update in client.durable if update.id == "7.3"] == [b"start", b"x"]
    assert len(client.durable) == 64 * number * 2
    assert len(client.calls) < 64 * number


def test_async_returns_at_once_and_is_sent_at_the_end() -> None:
    """With nobody blocked the quiet window would hold it; to close does not."""
    client = Fake()
    with batcher(client, msgspec.structs.replace(QUICK, discipline=v.LookAhead(quiet=v.SECOND * 900, collection=v.SECOND * 900))) as it:
        it.submit("a", b"1", sync=False)
        it.submit("b", b"2", sync=False)
        assert client.durable == []
        it.close(LONG)
        assert client.durable == [Update("a", b"1"), Update("b", b"2")]
        assert it.over == "stopped"
        it.close(LONG)


def test_sizes() -> None:
    """A request is full by the length of the bodies, or by what the caller says that the service counts."""
    client = Fake()
    with batcher(client, msgspec.structs.replace(QUICK, discipline=v.LookAhead(bytes=10, quiet=v.SECOND * 900, collection=v.SECOND * 900))) as it:
        for id, body, size in (("a", b"123456", None), ("b", b"1234", None), ("c", b"", 11), ("d", b"1234567890", 1), ("e", b"", None)):
            it.submit(id, body, sync=False, size=size)
        wait_for(lambda: len(client.calls) == 2)
        assert client.calls == [2, 1]
    assert client.names == ["a", "b", "c", "d", "e"]


def test_an_empty_one_asks_only() -> None:
    client = Fake()
    with batcher(client) as it:
        it.submit("ask")
        assert client.calls == [0]


def test_below_an_ended_context() -> None:
    client = Fake()
    with batcher(client) as it:
        it.submit("context", b"", ends=True)
        with pytest.raises(errors.Orphaned, match="child: a context above it"):
            it.submit("child", b"", parent="context")
        with pytest.raises(errors.Orphaned):
            it.submit("child", b"", parent="context", sync=False)
    assert client.names == ["context"]


# failures and ends -------------------------------------------------------------------------------------------------------------------


def failing(at: int) -> Script:
    def script(number: int, updates: list[Update]) -> None:
        if number == at:
            raise OSError("the line is down")

    return script


def no_token(at: int) -> Script:
    return lambda number, updates: Answer(None) if number == at else None


@pytest.mark.parametrize(("script", "expected"), [(failing(4), errors.Failed), (no_token(4), errors.Suspended)])
def test_everybody_is_told_of_the_end(script: Script, expected: type[CheckpointError]) -> None:
    """Those in the request, those behind it, those who wait for a refresh, and whoever comes later; all with the first error."""
    client, once = Fake(script, delay=0.005), Once()

    def produce(who: int) -> None:
        with it.running():
            i = 0
            while once.submit(it, f"{who}.{i}"):
                i += 1

    def suspend() -> None:
        try:
            it.refresh("far", due=10**15).result(LONG)
        except CheckpointError as error:
            once.note("far", error)

    with batcher(client) as it:
        with threads(suspend, *(partial(produce, who) for who in range(16))):
            pass
        outcomes = [outcome for id, outcome in once.told.items() if outcome != "ok"]
        assert outcomes == [expected.__name__] * 17
        for attempt in (lambda: it.submit("late", b""), lambda: it.submit("late", b"", sync=False), lambda: it.refresh("late"), it.close):
            with pytest.raises(expected) as caught:
                attempt()
            if expected is errors.Failed:
                assert str(caught.value.__cause__) == "the line is down"
    assert len(client.calls) == 4


def test_the_execution_ends() -> None:
    """What ended it is durable; what comes behind is orphaned, and later calls say that it has ended."""
    arrived, go = threading.Event(), threading.Event()

    def script(number: int, updates: list[Update]) -> Answer:
        arrived.set()
        assert go.wait(LONG)
        return Answer(None)

    once = Once()
    with batcher(Fake(script)) as it:

        def last() -> None:
            it.submit("last", b"", final=True)
            once.note("last", None)

        def behind() -> None:
            assert arrived.wait(LONG)
            with threads(lambda: once.submit(it, "behind")):
                wait_for(lambda: len(it._kept) == 4)                            # all three, and one body
                go.set()

        def refreshed() -> None:
            assert arrived.wait(LONG)
            it.refresh("op", told=lambda ids, error: once.note(ids[0], error))

        with threads(last, behind, refreshed):
            pass
        assert once.told == {"last": "ok", "behind": "Orphaned", "op": "Orphaned"}
        it.close(LONG)
        assert it.over == "completed"
        with pytest.raises(errors.Completed):
            it.submit("later", b"")


@pytest.mark.parametrize("answer", [Answer(""), Answer("t", done="op"), Answer("t", stamp=1 << 70), None, 3], ids=["token", "done", "stamp", "nothing", "a number"])
def test_an_answer_that_cannot_be_read(answer: Answer) -> None:
    """It ends the collector like any other failure of the client; the error says what was found."""
    with batcher(Fake()) as it:
        it._client.checkpoint = lambda token, updates: answer    # type: ignore[method-assign]
        with pytest.raises(errors.Failed) as caught:
            it.submit("a", b"")
        assert isinstance(caught.value.__cause__, (TypeError, ValueError))


def test_closed_during_a_flight() -> None:
    """What is out is answered; what is queued is sent; who waits for a refresh is told; nothing more is accepted."""
    arrived, go, once = threading.Event(), threading.Event(), Once()

    def script(number: int, updates: list[Update]) -> None:
        arrived.set()
        assert go.wait(LONG)

    client = Fake(script)
    with batcher(client) as it:

        def close() -> None:
            assert arrived.wait(LONG)
            it.refresh("op", due=10**15, told=lambda ids, error: once.note(ids[0], error))
            it.submit("queued", b"", sync=False)
            with pytest.raises(TimeoutError, match="a request is still out"):
                it.close(0)
            assert once.told == {"op": "Orphaned"}
            for attempt in (lambda: it.submit("late", b""), lambda: it.refresh("late")):
                with pytest.raises(errors.Stopped, match="late: the collector was stopped"):
                    attempt()
            go.set()
            it.close(LONG)

        with threads(lambda: once.submit(it, "first"), close, close_twice(it, arrived)):
            pass
    assert once.told == {"op": "Orphaned", "first": "ok"}
    assert client.names == ["first", "queued"]


def close_twice(it: CheckpointBatcher, arrived: threading.Event) -> Callable[[], None]:
    def close() -> None:
        wait_for(lambda: it.over)
        it.close(LONG)

    return close


def do_and_raise(work: Callable[[], object]) -> None:
    work()
    raise ZeroDivisionError


def test_a_block_ends_as_it_should() -> None:
    """Lost async updates are told to whoever closes; but the error of the block itself goes first."""
    with pytest.raises(errors.Failed, match="the batcher: a request failed"), CheckpointBatcher(Fake(failing(1)), QUICK) as it:
        it.submit("a", b"", sync=False)
    with pytest.raises(ZeroDivisionError), CheckpointBatcher(Fake(failing(1)), QUICK) as it:
        do_and_raise(partial(it.submit, "a", b"", sync=False))


def test_the_shipped_profile_leaves_nobody_either() -> None:
    """It accepts what comes after the stop, and would never settle it."""
    client = Fake()
    with batcher(client, "aws-durable-3.0.0") as it:
        it.submit("a", b"")
        wait = it.refresh("op", due=10**15)
        it.close(LONG)
        with pytest.raises(errors.Orphaned):
            wait.result(LONG)
        with pytest.raises(errors.Stopped):
            it.submit("b", b"")
    assert client.names == ["a"]


# refreshes ---------------------------------------------------------------------------------------------------------------------------


def test_a_wave_is_one_call() -> None:
    """All that an owner waits for until one instant goes on together, in the order of the index, even when an answer has pages; others by themselves."""
    told: list[tuple[list[str], CheckpointError | None]] = []
    arrived, go = threading.Event(), threading.Event()

    def script(number: int, updates: list[Update]) -> Answer | None:
        if number > 1:
            return Answer(f"token-{number}", None, ["op0", "op2"], "more")
        arrived.set()
        assert go.wait(LONG)
        return None

    client = Fake(script)
    client.pages = {"more": Page(["op1"], "still more"), "still more": Page(["other"])}
    with batcher(client, QUICK) as it:

        def callback(ids: list[str], error: CheckpointError | None) -> None:
            told.append((ids, error))

        it.submit("first", b"", sync=False)
        assert arrived.wait(LONG)
        key = time.time_ns()
        for i in (2, 0, 1):
            it.refresh(f"op{i}", key=key, owner="me", index=i, told=callback)
        other = it.refresh("other", key=key, owner="you")
        go.set()
        other.result(LONG)
        assert told == [(["op0", "op1", "op2"], None)]
        assert client.fetched == [("more", "token-2"), ("still more", "token-2")]
        assert client.calls == [1, 0]
        assert it.refresh("op1", key=key).done                                      # it was shown
        it.refresh("op1", key=key).result(LONG)


def test_not_done_yet_is_asked_again() -> None:
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["op"] if number == 3 else []))
    with batcher(client, msgspec.structs.replace(QUICK, discipline=v.LookAhead(pause=v.MILLISECOND))) as it:
        it.refresh("op", key=time.time_ns()).result(LONG)
    assert client.calls == [0, 0, 0]


def test_a_failed_page_is_a_failure() -> None:
    client = Fake(lambda number, updates: Answer("token-1", None, [], "lost"))
    with batcher(client) as it:
        with pytest.raises(errors.Failed) as caught:
            it.submit("a", b"")
        assert isinstance(caught.value.__cause__, KeyError)


def test_cancelled() -> None:
    told: list[tuple[list[str], str]] = []
    client = Fake()
    with batcher(client) as it:

        def callback(ids: list[str], error: CheckpointError | None) -> None:
            told.append((ids, type(error).__name__))

        waits = [it.refresh(f"op{i}", due=10**15, owner="me", told=callback) for i in range(3)]
        with pytest.raises(errors.Duplicate):
            it.refresh("op0", due=10**15)
        assert it.cancel("op1") == 1
        assert it.cancel(owner="me") == 2
        assert it.cancel(owner="me") == 0
        assert told == [([f"op{i}"], "Cancelled") for i in (1, 0, 2)]
        for wait in waits:
            with pytest.raises(errors.Cancelled):
                wait.result(LONG)
        assert client.calls == []


def test_a_wait_that_lasts_too_long() -> None:
    with batcher(Fake()) as it:
        wait = it.refresh("op", due=it.now() + v.SECOND * 1000)
        with pytest.raises(TimeoutError, match="op: not answered yet"):
            wait.result(0)
        assert not wait.done


def test_credits_are_kept() -> None:
    """However a wait ends, whoever waited is counted once again; so is whoever was outside, or is told of a failure."""
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["op"]))
    with batcher(client) as it:

        def counts() -> tuple[object, object]:
            state = it._engine.state()
            return state["running"], state["outside"]

        seen: list[object] = []
        with it.running():
            with pytest.raises(ZeroDivisionError), it.outside():
                do_and_raise(lambda: seen.append(counts()))
            assert seen == [(0, 1)]
            assert counts() == (1, 0)
            it.submit("a", b"")
            assert counts() == (1, 0)
            wait = it.refresh("op", key=time.time_ns())
            wait.result(LONG)
            assert counts() == (1, 0)
            wait.result(LONG)                                                       # a second time it gives nothing
            assert counts() == (1, 0)
            lost = it.refresh("lost", due=10**15)
            with pytest.raises(TimeoutError):
                lost.result(0)
            it.cancel("lost")
            with pytest.raises(errors.Cancelled):
                lost.result(LONG)
            assert counts() == (1, 0)
            it.credit(2)
            with it.running(credited=True):
                assert counts() == (3, 0)
            assert counts() == (2, 0)
            it.credit(-1)
        assert counts() == (0, 0)


def test_who_runs_no_longer_is_not_waited_for() -> None:
    """However long a request may be held for them."""
    patient = v.LookAhead(may_come=900 * v.SECOND, will_come=1, hold=1 << 30, collection=900 * v.SECOND)
    leave = threading.Event()
    client = Fake()
    with batcher(client, msgspec.structs.replace(QUICK, discipline=patient)) as it:

        def leaves() -> None:
            with it.running():
                assert leave.wait(LONG)

        def submits() -> None:
            with it.running():
                it.submit("a", b"")

        it.credit(2)
        with threads(leaves, submits):
            wait_for(lambda: it._until)                                             # it holds the request
            assert client.calls == []
            it.credit(-2)
            leave.set()
        assert client.calls == [1]


def test_names_are_told_apart() -> None:
    """An operation may have an update in a request and a refresh beside it: an answer settles the one, and the end both."""
    once = Once()
    with batcher(Fake(failing(2))) as it:
        it.refresh("op", due=10**15, told=lambda ids, error: once.note("refresh", error))
        it.submit("op", b"first")
        assert once.told == {}
        assert not once.submit(it, "op")
        wait_for(lambda: len(once.told) == 2)
        assert once.told == {"op": "Failed", "refresh": "Failed"}


def test_two_updates_of_one_name() -> None:
    """The first answer is the first one's; the second waits for its own."""
    client, come, go = stepwise()
    told: list[str] = []

    def submit(body: bytes) -> None:
        it.submit("op", body)
        told.append(body.decode())

    with batcher(client) as it, threads(partial(submit, b"1")):
        assert come[0].wait(LONG)
        with threads(partial(submit, b"2")):
            wait_for(lambda: len(it._kept) == 2)                                    # the second body; one name
            go[0].set()
            assert come[1].wait(LONG)
            wait_for(lambda: told)
            assert told == ["1"]
            go[1].set()
    assert [update.body for update in client.durable] == [b"1", b"2"]


def test_a_refresh_in_vain_after_the_stop() -> None:
    """It is told so; an update of its name, which was accepted before, is still sent."""
    client, come, go = stepwise()
    once = Once()
    with batcher(client) as it:
        it.refresh("op", key=time.time_ns() - v.SECOND, told=lambda ids, error: once.note("refresh", error))
        assert come[0].wait(LONG)
        with threads(partial(once.submit, it, "op")):
            wait_for(lambda: len(it._kept) == 3)
            it.stop()
            go[0].set()
            assert come[1].wait(LONG)
            assert once.told == {"refresh": "Orphaned"}
            go[1].set()
    assert once.told == {"refresh": "Orphaned", "op": "ok"}


# misuse ------------------------------------------------------------------------------------------------------------------------------


def test_a_broken_callback_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def broken(ids: list[str], error: CheckpointError | None) -> None:
        raise ZeroDivisionError

    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["a", "b"]))
    with batcher(client) as it, caplog.at_level(logging.ERROR):
        key = time.time_ns() + 5 * v.MILLISECOND
        it.refresh("a", key=key, owner="a", told=broken)
        it.refresh("b", key=key, owner="b").result(LONG)
        it.submit("c", b"")
        assert "the callback of a failed" in caplog.text


def test_the_collector_cannot_wait_for_itself() -> None:
    """In a callback async updates and refreshes are welcome, and closing too; to wait is one clear error instead of a hang."""
    found: list[str] = []
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["op"]))
    with batcher(client, QUICK) as it:
        other = it.refresh("other", due=10**15)

        def callback(ids: list[str], error: CheckpointError | None) -> None:
            for wait in (partial(it.submit, "a", b""), other.result):
                try:
                    wait()
                except Misuse as misuse:
                    found.append(str(misuse))
            it.submit("b", b"", sync=False)
            it.close()
            found.append("closed")

        it.refresh("op", due=it.now() + v.MILLISECOND, told=callback)
        it._thread.join(LONG)
        assert not it._thread.is_alive()
    assert found == ["the collector's thread would wait for itself: a callback may submit async updates, and wait for nothing"] * 2 + ["closed"]
    assert client.names == ["b"]


def test_a_later_thread_is_not_the_collector() -> None:
    """The system gives the number of a thread that has ended to another one."""
    found: list[type[BaseException]] = []
    with batcher(Fake()) as it:
        it.close(LONG)

        def late() -> None:
            try:
                it.submit("late", b"")
            except Exception as error:
                found.append(type(error))

        for _ in range(20):
            with threads(late):
                pass
    assert found == [errors.Stopped] * 20


def test_misuse_is_one_clear_error() -> None:
    """And nothing was done."""
    client = Fake()
    with pytest.raises(ValueError, match=r"no profile is called 'none'; there are aws-durable-2.0.0, aws-durable-3.0.0, slotwise"):
        CheckpointBatcher(client, "none")
    with batcher(client) as it:
        with pytest.raises(TypeError, match="body must be bytes or None, found <class 'str'>"):
            it.submit("a", "text")    # type: ignore[arg-type]
        with pytest.raises(ValueError, match="an item's id must have 1 to 200 characters"):
            it.submit("", b"")
        with pytest.raises(ValueError, match="size must be 0 to 2147483647, found -1"):
            it.submit("a", b"", size=-1)
        with pytest.raises(ValueError, match="running must be"):
            it.credit(1 << 40)
        it.refresh("op", due=10**15)
        with pytest.raises(Misuse, match="op: an empty update and a refresh of one name"):
            it.submit("op")
        it.cancel("op")
        assert len(it._kept) == 0
        assert client.calls == []


def test_nobody_is_told_twice() -> None:
    item = Item("a", b"", True)
    item.settle("ok")
    with pytest.raises(AssertionError, match="a was settled before"):
        item.settle("ok")


def test_a_defect_of_the_collector_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """If the collector's thread itself fails, nobody hangs."""
    it = CheckpointBatcher(Fake())
    it._kept.take = {}.__getitem__    # type: ignore[method-assign, assignment]
    with pytest.raises(errors.Failed) as caught:
        it.submit("a", b"")
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(errors.Failed):
        it.submit("b", b"")
    with pytest.raises(errors.Failed):
        it.close(LONG)
    assert "the collector's thread failed" in caplog.text
