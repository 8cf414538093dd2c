"""Snapshots in little memory: what is taken out is what was put in."""
from __future__ import annotations

import tracemalloc

import msgspec
import pytest

from slotwise.dashboard.observe import packed
from slotwise.dashboard.observe.packed import Packed
from slotwise.dashboard.sample import snapshots


def test_what_is_taken_out_is_what_was_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "LATEST", 7)
    shots, kept = list(snapshots())[:100], Packed()
    for place, shot in enumerate(shots):
        kept.append(shot)
        assert kept[-1] is shot, "the latest as they are"
        assert kept[place // 2] == shots[place // 2]
        assert len(kept._latest) <= 7
    assert [kept[place] for place in range(100)] == shots
    kept.thin()
    assert [kept[place] for place in range(len(kept))] == shots[1::2]


def test_what_is_looked_at_again_is_the_same_object() -> None:
    kept = Packed()
    for shot in list(snapshots())[: packed.LATEST + 50]:
        kept.append(shot)
    first = kept[0]
    assert kept[0] is first
    for place in range(1, packed.LATEST):
        assert kept[place] is not None
    assert kept[0] is first, "still among the latest"
    for place in range(packed.LATEST, packed.LATEST + 50):
        assert kept[place] is not None
    assert kept[0] is first, "it was looked at again"


def test_it_takes_a_fraction_of_the_memory() -> None:
    """Counted, not timed."""
    shot = next(snapshots())
    encoded = [msgspec.msgpack.encode(msgspec.structs.replace(shot, number=i, now=i)) for i in range(2000)]
    decode, sizes = msgspec.msgpack.Decoder(type(shot)).decode, []
    for keep in (list[object](), Packed()):
        tracemalloc.start()
        for one in encoded:
            keep.append(decode(one))
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[1] < sizes[0] / 4
