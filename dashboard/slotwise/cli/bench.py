"""`slotwise bench`: the bars of the project, measured in one run."""
from __future__ import annotations

from slotwise.cli.output import Stop, as_json, data, progress, say, table
from slotwise.fuzz import bench
from slotwise.fuzz.bench import Figure


def run(names: list[str], json: bool) -> int:
    """Ends with 0 whatever was measured: a benchmark is no test."""
    with progress() as shown:
        line = None if shown is None else shown.add_task("", total=None, note="")

        def told(name: str) -> None:
            if shown is not None and line is not None:
                shown.update(line, description=name)

        try:
            figures = bench.run(names, told)
        except ValueError as error:
            raise Stop(str(error)) from None
    if json:
        as_json({"figures": [figure.to_json() for figure in figures]})
        return 0
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
