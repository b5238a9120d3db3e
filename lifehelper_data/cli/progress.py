"""Progress of long work, on stderr: bars on a terminal, a line per stage elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars


class RichProgress:
    """A `Progress` that people see; `--json` and pipes get plain lines on stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}

    def step(self, label: str, done: int, total: int | None) -> None:
        """Show that `done` of `total` units of `label` are done."""
        if self._console.is_terminal:
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task(label, total=total)
            self._bars.update(self._tasks[label], completed=done, total=total)
            return
        tenth = done * 10 // total if total else done // 500_000
        if self._tenths.get(label, -1) != tenth:
            self._tenths[label] = tenth
            share = f": {done * 100 // total} %" if total else f": {done:,}" if done else ""
            self._console.print(label + share, markup=False)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()
