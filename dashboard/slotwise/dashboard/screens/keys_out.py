"""Keys that copy, write, record, or show something over the overview."""
from __future__ import annotations

import asyncio
from pathlib import Path

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.recording_out import cut
from slotwise.dashboard.observe.words import harmless
from slotwise.dashboard.screens import export
from slotwise.dashboard.screens.board import Board
from slotwise.dashboard.screens.help import Exporting, Help
from slotwise.dashboard.screens.output import Output
from slotwise.dashboard.screens.search import only_search


class OutKeys(Board):
    def action_copy(self) -> None:
        """The row; of what diverges, the command that shows it."""
        pane = self.pane
        row, listing = (pane.row, pane.listing()) if pane else (None, None)
        if row is None or listing is None:
            return
        words = {column.id: self.look.value(cell.value, column.unit) for column, cell in zip(listing.columns, row.cells, strict=True)}
        self.app.copy_to_clipboard(words.get("repro") or "  ".join(words.values()))
        self.tell("copied")

    # keys: out --------------------------------------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        pane = self.pane
        listing = pane.listing() if pane else None
        self.app.push_screen(Help(self.look, self.current, listing.title if listing is not None else self.current, listing.columns if listing is not None else (), self.screens.mapped, self.screens.session.limits, not only_search(self.screens.frame)))

    def action_export(self) -> None:
        self.app.push_screen(Exporting(self.look, export.kinds(self.screens.session.source.name)), self.exported)

    def exported(self, kind: str | None) -> None:
        if kind is not None:                     # after the choice has gone from the screen
            self.call_after_refresh(self.write, kind)

    def write(self, kind: str) -> None:
        screens = self.screens
        frame, pane = screens.frame, self.pane
        listing = pane.listing() if pane else None
        if frame is None or pane is None or listing is None:
            self.tell("there is nothing to export yet", severity="warning")
            return
        if kind == "parquet":
            self.run_worker(self.cut(frame), exit_on_error=False)
            return
        match kind:
            case "svg":
                content = screens.export_screenshot(title="slotwise watch")
            case "txt":
                content = export.screen_text(screens) + "\n"
            case "csv":
                keep = pane.keep(listing.columns)
                content = export.as_csv(listing.columns, tuple(row for row in listing.rows() if keep is None or keep(row)))
            case _:
                content = export.as_json(frame, screens.alarms)
        try:
            path = export.write(screens.folder, frame.head.program, kind, content)
        except OSError as error:
            self.tell(f"not written: {error}", severity="error")
        else:
            self.tell(f"written: {path}", lasting=True)

    async def cut(self, frame: Frame) -> None:
        """The window that is looked at, out of the recording; without holding up the screen."""
        screens = self.screens
        try:
            path = export.free(screens.folder, frame.head.program, "parquet")
            await asyncio.to_thread(cut, Path(screens.session.source.name), frame.window.began, frame.window.now, path)
        except Exception as error:               # whatever the library finds wrong with the recording
            self.tell(f"not written: {harmless(str(error))}", severity="error")
        else:
            self.tell(f"written: {harmless(str(path))}", lasting=True)

    def action_record(self) -> None:
        screens = self.screens
        if screens.session.replay:
            self.tell("this is a recording already; e cuts the window out of one", severity="warning")
        elif screens.recorder.running:
            self.tell(screens.recorder.stop(), lasting=True)
        else:
            frame = screens.now
            told = screens.recorder.start(frame.head.program if frame else "")
            self.tell(told, severity="information" if screens.recorder.running else "error", lasting=True)
        screens.paint()

    def action_output(self) -> None:
        self.app.push_screen(Output(self.look))

    def action_theme(self) -> None:
        """Colours of the ground; those of states stay, or are the darker ones on a light ground. Without colours nothing changes."""
        names = [name for name in sorted(self.app.available_themes) if not name.startswith(("ansi-", "textual-ansi"))]
        place = names.index(self.app.theme) + 1 if self.app.theme in names else 0
        self.app.theme = names[place % len(names)]
        self.tell(f"theme {self.app.theme}")
