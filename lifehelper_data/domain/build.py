"""What a builder made, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.release import Artifact, TableParts


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """The output of one asset, kept so that the next build can reuse it.

    Attributes:
        asset: name of the asset.
        input_digest: sha256 of everything the output depends on.
        built_at: when it was built.
        tables: the parts it wrote, by table.
        artifacts: indexes and vectors it made, by name.
        files: line counts of source files, if it read any.
        table_counts: row counts, if it loaded any.
        facts: facts for the release, JSON-ready.
    """

    asset: str
    input_digest: str
    built_at: datetime
    tables: Mapping[str, TableParts] = field(default_factory=dict)
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    files: tuple[FileCounts, ...] = ()
    table_counts: Mapping[str, TableCounts] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """A build record with how it came about.

    Attributes:
        record: what was made.
        reused: whether nothing had changed and the last output stands.
        seconds: wall time of the builder.
    """

    record: BuildRecord
    reused: bool
    seconds: float

    @property
    def rows(self) -> int:
        """Rows of all tables and artifacts made."""
        tables = sum(table.rows for table in self.record.tables.values())
        return tables + sum(artifact.rows for artifact in self.record.artifacts.values())

    @property
    def size_bytes(self) -> int:
        """Bytes of all parts and files made."""
        parts = [part.size_bytes for t in self.record.tables.values() for part in t.parts]
        return sum(parts) + sum(a.size_bytes for a in self.record.artifacts.values())

    @property
    def made(self) -> dict[str, int]:
        """Rows or items by table and artifact, without empty ones."""
        tables = {name: table.rows for name, table in self.record.tables.items() if table.rows}
        return tables | {name: a.rows for name, a in self.record.artifacts.items() if a.rows}
