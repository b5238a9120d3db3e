"""Every row accounted for: counts of files and tables, and what they must add up to."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCounts:
    """What became of the lines of one source file.

    Attributes:
        source_file: the name the mapping gives the file.
        path: the path relative to the mapping file.
        lines: data lines: physical lines less the header, blank lines and the continuation lines
            of quoted fields (Parquet: rows).
        rows: lines read as rows.
        rejected: lines put in the reject table.
        reasons: rejected lines by reason.
    """

    source_file: str
    path: str
    lines: int
    rows: int
    rejected: int
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def balanced(self) -> bool:
        """Whether lines = rows + rejected, and the reasons add up to the rejected lines."""
        return (
            self.lines == self.rows + self.rejected and sum(self.reasons.values()) == self.rejected
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCounts:
    """What became of the rows that a table's SELECT returned.

    Attributes:
        table: the contract table.
        returned: rows the SELECT returned.
        kept: rows in the clean table.
        repeated: rows equal to a kept one but for arrived_at.
        duplicates: rows that lost against another row of the same key; in quarantine.
        quarantined: rows with a bad value; in quarantine.
        bad_columns: quarantined rows by their first bad column.
        orphans: kept history rows whose book is not in `books`.
        ignored_columns: columns the SELECT returned that the contract does not know.
    """

    table: str
    returned: int = 0
    kept: int = 0
    repeated: int = 0
    duplicates: int = 0
    quarantined: int = 0
    bad_columns: Mapping[str, int] = field(default_factory=dict)
    orphans: int = 0
    ignored_columns: tuple[str, ...] = ()

    @property
    def balanced(self) -> bool:
        """Whether returned = kept + repeated + duplicates + quarantined."""
        return (
            self.returned == self.kept + self.repeated + self.duplicates + self.quarantined
            and sum(self.bad_columns.values()) == self.quarantined
        )

    @property
    def bad_share(self) -> float | None:
        """Share of returned rows with a bad value, 0-1; None without rows."""
        return self.quarantined / self.returned if self.returned else None
