"""The shape of a contract table."""

from dataclasses import dataclass
from enum import StrEnum

from lifehelper_data.domain.contract.columns import Column


class Duplicates(StrEnum):
    """How several rows of one key are settled."""

    NEWEST_WINS = "newest_wins"  # highest updated_at, else the last in source order
    LAST_WINS = "last_wins"  # the last in source order
    REPEATED_DELIVERY = "repeated_delivery"  # equal but for arrived_at: the earliest arrival stays
    REPEATED_ROW = "repeated_row"  # equal in every column: one stays


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One contract table.

    Attributes:
        name: the table's name.
        meaning: one line for the data dictionary.
        columns: the columns in contract order.
        key: columns that identify a row (for event tables: every column but arrived_at).
        duplicates: how several rows of one key are settled.
        event_time: the column that says when the row happened, if it has one.
        freshness_time: the column its age is measured by, if it has one.
        bucketed_by: column whose value spreads the table over parts, if it is split.
        ordered_within: columns within which source order carries meaning; the platform adds `seq`.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    duplicates: Duplicates
    event_time: str | None = None
    freshness_time: str | None = None
    bucketed_by: str | None = None
    ordered_within: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Return the column called `name`; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """The columns a SELECT may deliver, in contract order."""
        return tuple(c for c in self.columns if not c.derived)

    @property
    def sort_key(self) -> tuple[str, ...]:
        """The total order in which the table is stored."""
        return self.key + tuple(c.name for c in self.columns if c.name == "seq")
