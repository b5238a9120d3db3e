"""Which rows of a table are newer than those already known."""

import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lifehelper_data.domain.contract import Table
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.postgres import DatabaseColumn
from lifehelper_data.sources.scratch import quoted
from lifehelper_data.sources.table_spec import Incremental

MOMENT: Final = "moment!"
"""Column of microseconds since 1970 that is sent beside the rows; a name no contract has."""

_KINDS: Final = ("timestamptz", "timestamp", "date")
_SECOND_US: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local times without a zone are counted too
_EARLIEST_US: Final = -62_135_596_800 * _SECOND_US  # year 1
_EARLIEST_ZONE: Final = timedelta(hours=-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The part of a table that an incremental read asks for.

    Attributes:
        column: the column that grows, as the query names it.
        kind: its type: timestamptz, timestamp or date. Values of the latter two count as if UTC.
        lookback: how far behind the newest known value late rows are looked for.
        naive_timezone: zone that local times are meant in; None if the mapping does not say.
    """

    column: str
    kind: str
    lookback: timedelta
    naive_timezone: str | None

    @property
    def moment(self) -> str:
        """SQL of the column in microseconds since 1970, named MOMENT; null where infinite."""
        name = quoted(self.column)
        return (
            f"CASE WHEN isfinite({name}) THEN (extract(epoch FROM {name}) * {_SECOND_US})::bigint "
            f"END AS {quoted(MOMENT)}"
        )

    def since_us(self, watermark_us: int | None) -> int | None:
        """Return from which moment to read; None (everything) without a watermark."""
        if watermark_us is None:
            return None
        since_us = watermark_us - int(self.lookback / timedelta(microseconds=1))
        return since_us if since_us >= _EARLIEST_US else None

    def where(self, since_us: int) -> str:
        """SQL of the rows to read: newer ones, and those whose column says nothing."""
        name, bound = quoted(self.column), self.kind.replace("date", "timestamp")
        return f"({name} >= '{self.shown(since_us)}'::{bound} OR {name} IS NULL)"

    def shown(self, since_us: int) -> str:
        """Return a moment as ISO text; with an offset if the column has one."""
        moment = _EPOCH + timedelta(microseconds=since_us)
        return moment.isoformat(timespec="microseconds") + (
            "+00:00" if self.kind == "timestamptz" else ""
        )

    def latest_us(self, snapshot_at: datetime) -> int:
        """Return the largest watermark that a read may leave behind: its own time.

        A row that bears a later time by mistake would otherwise hide every row after it.
        """
        local = snapshot_at.astimezone(UTC)
        if self.kind != "timestamptz":
            if self.naive_timezone:
                local = snapshot_at.astimezone(zoneinfo.ZoneInfo(self.naive_timezone))
            else:
                local += _EARLIEST_ZONE
        return int((local.replace(tzinfo=None) - _EPOCH) / timedelta(microseconds=1))


def window_of(
    table: Table, spec: Incremental, probed: Sequence[DatabaseColumn], naive_timezone: str | None
) -> Window:
    """Find the incremental column among those a query delivers.

    Raises:
        MappingError: it is not there, or no timestamp or date.
    """
    where = f"tables.{table.name}.incremental.column"
    found = [column for column in probed if column.name.lower() == spec.column.lower()]
    if not found:
        raise MappingError(
            f"{where}: the query does not return {spec.column!r}; it returns "
            f"{', '.join(sorted(column.name for column in probed))}",
            field=table.name,
        )
    if found[0].type_name not in _KINDS:
        raise MappingError(
            f"{where}: {spec.column!r} is {found[0].type_name}; it must be a timestamp or date",
            field=table.name,
        )
    return Window(
        column=found[0].name,
        kind=found[0].type_name,
        lookback=spec.lookback,
        naive_timezone=naive_timezone,
    )
