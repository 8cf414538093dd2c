"""`slotwise bench`: the bars of the project, measured in one run."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slotwise.cli import bench_http, bench_spin
from slotwise.cli.output import Stop, as_json, data, progress, say, table
from slotwise.fuzz import bench, exits
from slotwise.fuzz.bench import Figure

if TYPE_CHECKING:
    from slotwise.fuzz.bench_http import Report as HttpReport
    from slotwise.fuzz.bench_spin import Report


def run(names: list[str], json: bool, picture: Path | None = None, blocks: int | None = None) -> int:
    """Ends with 0 whatever was measured: a benchmark is no test; but what did wrong things is not measured. `picture` and `blocks` are about
    `spin`, which shows more than figures where it is named, as `http` does."""
    if bench_spin.NAME not in names and (picture or blocks):
        raise Stop(f"{'--picture' if picture else '--blocks'} goes with: {bench_spin.COMMAND}")
    if picture is not None:
        bench_spin.may_be_pictured(picture)
    spun: Report | None = None
    asked: HttpReport | None = None
    with progress() as shown:
        line = None if shown is None else shown.add_task("", total=None, note="")

        def told(name: str) -> None:
            if shown is not None and line is not None:
                shown.update(line, description=name)

        try:
            others = [name for name in names if name not in (bench_spin.NAME, bench_http.NAME)]
            figures = bench.run(others, told) if others or not names else []
            if bench_spin.NAME in names:
                more, spun = bench_spin.measured(blocks or bench_spin.BLOCKS, told)
                figures += more
            if bench_http.NAME in names:
                more, asked = bench_http.measured(told)
                figures += more
        except ValueError as error:
            raise Stop(str(error)) from None
        except bench.CheckFailed as error:
            raise Stop(f"bench: {error}", exits.INVARIANT) from None
    if spun is not None and picture is not None:
        bench_spin.pictured(spun, picture)
    if json:
        as_json({"figures": [figure.to_json() for figure in figures], **({"spin": spun.to_json()} if spun else {}), **({"http": asked.to_json()} if asked else {})})
        return 0
    if spun is not None:
        data(f"{bench_spin.tables(spun)}\n")
    if asked is not None:
        data(f"{bench_http.tables(asked)}\n")
    data(table(("figure", "measured", "unit", "bar", "", "again with"), [row(figure) for figure in figures], "measured"))
    for figure in figures:
        if figure.note:
            say(f"{figure.name}: {figure.note}")
    missed = [figure.name for figure in figures if figure.met is False]
    if missed:
        say(f"below the bar: {', '.join(missed)}")
    return 0


def row(figure: Figure) -> tuple[str, ...]:
    measured = "-" if figure.figure is None else f"{figure.figure:,.0f}" if abs(figure.figure) >= 1000 else f"{figure.figure:,.4g}"
    met = {True: "met", False: "NOT met", None: ""}[figure.met]
    return (figure.name, measured, figure.unit, figure.bar, met, figure.command)
