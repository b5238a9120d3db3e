"""Loading small sources into a real workspace."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.settings import LoadTunables, RunSettings, Settings
from lifehelper_data.stores.layout import Layout
from tests.integration.release_kit import ManualClock

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class Loader:
    """A source folder beside a workspace, with a hand-driven clock."""

    def __init__(self, folder: Path, *, max_bad_share: float = 0.05) -> None:
        self.folder = folder / "source"
        self.folder.mkdir()
        self.layout = Layout(folder / "workspace")
        self.layout.create()
        self.clock = ManualClock(NOW)
        self.context = BuildContext(
            layout=self.layout,
            settings=Settings(
                load=LoadTunables(max_bad_share=max_bad_share),
                run=RunSettings(history_buckets=2),
            ),
            clock=self.clock,
        )

    def file(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def mapping(self, text: str) -> Path:
        self.file("source.toml", text)
        return self.folder / "source.toml"

    def load(self) -> BuildRecord:
        return build_tables(self.context, self.folder / "source.toml").record

    def rows(self, record: BuildRecord, table: str) -> list[dict[str, object]]:
        """Rows of a table as written, read by Polars."""
        paths = [self.layout.root / part.path for part in record.tables[table].parts]
        return pl.concat([pl.read_parquet(path) for path in paths]).rows(named=True)


def mapping_of(files: Mapping[str, str], tables: Mapping[str, str], head: str = "") -> str:
    """Text of a mapping: file name -> path, table -> SQL."""
    declared = "".join(f"[files.{name}]\npath = '{path}'\n" for name, path in files.items())
    selects = "".join(f"[tables.{name}]\nsql = '''{sql}'''\n" for name, sql in tables.items())
    return f"{head}\n{declared}{selects}"


def assert_every_row_is_accounted_for(loader: Loader, record: BuildRecord) -> None:
    """Hold the counts against what lies in the written tables."""
    for file in record.files:
        assert file.balanced
        assert file.lines == file.rows + file.rejected
    rejects = loader.rows(record, "rejects")
    assert len(rejects) == sum(file.rejected for file in record.files)
    quarantine = [str(row["table_name"]) for row in loader.rows(record, "quarantine")]
    for name, count in record.table_counts.items():
        assert count.balanced
        assert count.returned == (
            count.kept + count.repeated + count.duplicates + count.quarantined
        )
        assert count.kept == len(loader.rows(record, name)) == record.tables[name].rows
        assert count.duplicates + count.quarantined == quarantine.count(name)
