"""What every builder is given: workspace, settings, clock, progress."""

import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lifehelper_data.domain.ports import Clock, NoProgress, Progress
from lifehelper_data.settings import Settings
from lifehelper_data.stores.build_records import load_record
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.parts import PartWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """The surroundings of a build.

    Attributes:
        layout: the workspace.
        settings: configuration.
        clock: the current time, UTC.
        progress: shows long work.
        seconds: a monotonic clock for durations.
    """

    layout: Layout
    settings: Settings
    clock: Clock
    progress: Progress = field(default_factory=NoProgress)
    seconds: Callable[[], float] = time.monotonic

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield an empty folder for throw-away files; it is gone afterwards."""
        folder = self.layout.tmp / uuid.uuid4().hex
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def part_writer(self, scratch: Path, asset: str) -> AbstractContextManager[PartWriter]:
        """Open a writer of parts for an asset; parts of its last output are used again."""
        last = load_record(self.layout, asset)
        return PartWriter.open(
            self.layout,
            scratch,
            threads=self.settings.run.threads,
            memory_limit=self.settings.run.memory_limit,
            known=last.tables if last else None,
        )
