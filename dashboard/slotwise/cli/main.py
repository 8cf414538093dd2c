"""`slotwise`: the commands, their options, and how they end. Each command is a module of its own, imported when it is called."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slotwise.cli.ends import INTERRUPTED, ended, one_line
from slotwise.cli.examples import shown
from slotwise.cli.output import say
from slotwise.fuzz import exits

# typer's own errors; where it keeps their classes has moved between its versions
WRONG_USE: Any = typer.BadParameter.__mro__[1]

HELP = """An executable specification of a work scheduler, a native engine that does exactly the same, and what proves it.

`slotwise fuzz` without arguments runs everything for a short while."""
ENDS = """Ends with 0 clean, 1 divergence, 2 broken law, 3 nondeterminism, 4 floor missed, 5 mutation floor, 6 trace rejected, 64 wrong use, 70 internal error."""

app = typer.Typer(help=HELP, epilog=ENDS, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})

MechanismArgument = Annotated[str | None, typer.Argument(metavar="MECHANISM", help="admission, batching or spin; all, if left out.", show_default=False)]
TraceArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A trace, *.slotwise.jsonl.", show_default=False)]
TargetOption = Annotated[str, typer.Option("--target", metavar="T", help="native, native:faults/NAME, reference, trio, data-designer, aws-durable, package.module:factory, or pipe:COMMAND.")]
ProfileOption = Annotated[str | None, typer.Option("--profile", metavar="P", help="strict, data-designer-0.8, data-designer-0.9, aws-durable-2.0.0, aws-durable-3.0.0, ep-cpu-orig, ep-cpu-before, ep-cpu-after, slotwise, or a .json file; all that fit, if left out.", show_default=False)]
AdmissionProfileOption = Annotated[str | None, typer.Option("--profile", metavar="P", help="strict, data-designer-0.8, data-designer-0.9, slotwise, or a .json file; all that fit, if left out.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def print_version(value: bool) -> None:
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"slotwise {version('slotwise')}")
        except PackageNotFoundError:
            print("slotwise, not installed: run from its sources")
        raise typer.Exit


@app.callback()
def options(
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where an internal error happened.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)] = False,
) -> None:
    pass


@app.command(**shown("fuzz"))
def fuzz(
    mechanism: MechanismArgument = None,
    target: TargetOption = "native",
    profile: ProfileOption = None,
    seconds: Annotated[float | None, typer.Option(min=0.1, metavar="S", help="How many seconds to search: 30, or 6 for each of several profiles, if left out.", show_default=False)] = None,
    steps: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many steps (commands) to search, instead of seconds.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Where the search begins. The same seed and steps do the same; if left out, 0 with --steps, else a fresh one.", show_default=False)] = None,
    workers: Annotated[int, typer.Option(min=1, max=256, metavar="W", help="Processes that search side by side, each from a seed of its own.")] = 1,
    json: JsonOption = False,
    tap: Annotated[str | None, typer.Option("--tap", metavar="SOCKET|auto", help="Show the search on this Unix socket while it runs, for slotwise watch --attach; auto: one in the temporary folder.", show_default=False)] = None,
) -> int:
    """Does a target behave as the reference does, and keep the laws? Search for a sequence of commands that says no."""
    from slotwise.cli.fuzz import run

    return run(mechanism, target, profile, seconds, steps, seed, workers, json, tap)


@app.command(**shown("replay"))
def replay(file: TraceArgument, target: TargetOption = "native", json: JsonOption = False) -> int:
    """Run a trace on a target, and compare with the reference, the laws and what the trace recorded."""
    from slotwise.cli.replay import run

    return run(file, target, json)


@app.command(**shown("shrink"))
def shrink(
    file: TraceArgument,
    target: TargetOption = "native",
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="Write the shorter trace here; stdout, if left out.", show_default=False)] = None,
) -> int:
    """Make a failing trace as short as it goes, while the same rule or law fails."""
    from slotwise.cli.shrink import run

    return run(file, target, output)


@app.command(**shown("emit-test"))
def emit_test(file: TraceArgument, target: TargetOption = "native") -> int:
    """Print a pytest file that plays the trace and expects what the reference says."""
    from slotwise.cli.emit_test import run

    return run(file, target)


@app.command(**shown("rules"))
def rules(
    mechanism: MechanismArgument = None,
    json: JsonOption = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="DIR", help="Write the rule book, one HTML file, into this folder.", show_default=False)] = None,
) -> int:
    """Every rule: its id, its sentence, its function, how often it decided in the last campaign here, and how many of its faults were found."""
    from slotwise.cli.rules import run

    return run(mechanism, json, html)


@app.command(**shown("explore"))
def explore(
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="admission, batching or spin.", show_default=False)],
    scope: Annotated[str, typer.Option("--scope", metavar="tiny|small", help="How much there is to put in order.")] = "tiny",
    depth: Annotated[int | None, typer.Option("--depth", min=1, metavar="D", help="So many commands at most; until nothing is new, if left out.", show_default=False)] = None,
    target: TargetOption = "native",
    profile: ProfileOption = None,
    json: JsonOption = False,
) -> int:
    """Every order in which a few commands can come, state by state; of spin also every schedule of a few threads on one processor or two."""
    from slotwise.cli.explore import run

    return run(mechanism, scope, depth, target, profile, json)


@app.command(**shown("mutate"))
def mutate(
    mechanism: MechanismArgument = None,
    side: Annotated[str, typer.Option("--side", metavar="native|spec", help="native: seeded faults of the engine; spec: small mistakes in the rules.")] = "native",
    every: Annotated[int, typer.Option(min=1, metavar="N", help="With --side spec: only each N-th mistake.")] = 1,
    workers: Annotated[int, typer.Option(min=1, max=256, metavar="W", help="Processes side by side.")] = 2,
    json: JsonOption = False,
) -> int:
    """Would the search notice a mistake? Make many, one at a time, and count those it finds."""
    from slotwise.cli.mutate import run

    return run(mechanism, side, every, workers, json)


@app.command(**shown("simulate"))
def simulate(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="heavy-root, neutral, fan-out, fan-in, bottleneck, long-prefill, mixed-duration; steps-200, fan-out-200, fan-out-200-flat, fan-out-200-mc50, nested-waves; or a .json file.", show_default=False)],
    profile: AdmissionProfileOption = None,
    engine: Annotated[str, typer.Option("--engine", metavar="native|trio|reference", help="Who plays it.")] = "native",
    json: JsonOption = False,
) -> int:
    """Play a scenario in virtual time; without --profile, all profiles side by side."""
    from slotwise.cli.simulate import run

    return run(scenario, profile, engine, json)


@app.command(**shown("bench"))
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these; a wrong name lists all. All, if left out.", show_default=False)] = None,
    picture: Annotated[Path | None, typer.Option("--picture", metavar="FILE", help="With spin: draw its frontier, as SVG or PNG.", show_default=False)] = None,
    blocks: Annotated[int | None, typer.Option("--blocks", min=2, max=1000, metavar="N", help="With spin: repetitions of every arm on every trace; 4, if left out.", show_default=False)] = None,
    json: JsonOption = False,
) -> int:
    """Measure what the project promises, as ratios within one run."""
    from slotwise.cli.bench import run

    return run(names or [], json, picture, blocks)


@app.command(**shown("watch"))
def watch(
    where: Annotated[str | None, typer.Argument(metavar="FILE|URL", help="A recording, a trace, an event log of data-designer's scheduler, a report of slotwise fuzz; or a Prometheus endpoint.", show_default=False)] = None,
    attach: Annotated[str | None, typer.Option("--attach", metavar="SOCKET", help="A running scheduler's socket.", show_default=False)] = None,
    once: Annotated[bool, typer.Option("--once", help="Print one look, without a screen. Ends with 0, 1 as --fail-on says, 2 cannot attach, 3 no data.")] = False,
    format: Annotated[str, typer.Option("--format", metavar="text|json", help="Of the one look.")] = "text",
    seconds: Annotated[float, typer.Option("--for", min=0.1, max=86400, metavar="S", help="How many seconds a live scheduler is looked at; a recording is played to its end.")] = 1.0,
    fail_on: Annotated[str | None, typer.Option("--fail-on", metavar="warn|alarm", help="End with 1 if anything is that bad, or worse.", show_default=False)] = None,
    allow: Annotated[list[str] | None, typer.Option("--allow", metavar="CODE", help="Say nothing of this lint.", show_default=False)] = None,
    warn: Annotated[list[str] | None, typer.Option("--warn", metavar="CODE=value", help="Another limit for this lint.", show_default=False)] = None,
    ascii: Annotated[bool, typer.Option("--ascii", help="Of the screen: nothing but ASCII. (NO_COLOR is respected too.)")] = False,
    program: Annotated[str | None, typer.Option("--run", metavar="COMMAND", help="Start this program, and watch the scheduler in it.", show_default=False)] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Start a small workload against a local inference server, and watch it.")] = False,
    against: Annotated[str | None, typer.Option("--against", metavar="T", help="Of a trace: the rules and this target side by side, with the first difference.", show_default=False)] = None,
    web: Annotated[int | None, typer.Option("--web", metavar="PORT", min=1, max=65535, help="The screen in a browser, at this port of 127.0.0.1 only. No login: every user of this machine can open it.", show_default=False)] = None,
) -> int:
    """What does a scheduler do? Is a slot idle while work waits, who starves, what waits for nothing, what burns CPU?"""
    from slotwise.cli.watch import Wanted, run

    return run(Wanted(where, attach, once, format, seconds, fail_on, tuple(allow or ()), tuple(warn or ()), ascii, program, demo, against, web))


@app.command(**shown("record"))
def record(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The recording to make, *.parquet.", show_default=False)],
    broken: Annotated[Path | None, typer.Argument(metavar="FILE", help="A recording that its program could not close, *.arrows.", show_default=False)] = None,
    attach: Annotated[str | None, typer.Option("--attach", metavar="SOCKET", help="A running scheduler's socket: its snapshots are recorded until it ends, or Ctrl-C.", show_default=False)] = None,
    seconds: Annotated[float | None, typer.Option("--for", min=0.1, max=31_536_000, metavar="S", help="How many seconds at most.", show_default=False)] = None,
) -> int:
    """Record a running scheduler's snapshots, or close a recording whose program was killed; slotwise watch replays both."""
    from slotwise.cli.record import run

    return run(broken, output, attach, seconds)


@app.command(**shown("ci"))
def ci(
    junit: Annotated[Path | None, typer.Option("--junit", metavar="F", help="Write JUnit XML into this file: every check.", show_default=False)] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", metavar="F", help="Write SARIF 2.1.0 into this file: what failed, by rule and law.", show_default=False)] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="DIR", help="Write a page, ci.html, into this folder: every check, and the whole of what failed.", show_default=False)] = None,
    steps: Annotated[int, typer.Option(min=1000, metavar="N", help="Steps (commands) for each mechanism and profile.")] = 100_000,
    golden: Annotated[Path | None, typer.Option("--golden", metavar="DIR", help="Traces to replay; tests/golden, if left out and there.", show_default=False)] = None,
    target: TargetOption = "native",
) -> int:
    """Everything that a commit must not break, at fixed seeds and steps: lockstep, laws, floors, golden traces, canaries."""
    from slotwise.cli.ci import run

    return run(junit, sarif, html, steps, golden, target)


COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback is not None]


def run(arguments: list[str]) -> int:
    """Do one command and say how it ended. Nothing is raised, but with --traceback."""
    traceback, arguments = "--traceback" in arguments, [argument for argument in arguments if argument != "--traceback"]

    def work() -> int:
        try:
            code = int(app(args=arguments or ["--help"], standalone_mode=False, prog_name="slotwise") or exits.CLEAN)
        except WRONG_USE as error:
            context = getattr(error, "ctx", None)
            message = " ".join(error.format_message().split())
            if message.startswith("No such command"):
                message += f" There are {', '.join(COMMANDS)}."
            say(f"{context.command_path if context else 'slotwise'}: {one_line(message)}")
            return exits.USAGE
        except typer.Abort:
            raise KeyboardInterrupt from None
        except SystemExit:                     # typer's answer to a reader of the help who has gone
            return exits.CLEAN
        if code == INTERRUPTED:                # newer typers take the interrupt themselves
            raise KeyboardInterrupt
        return code

    return ended(work, arguments, traceback)


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
