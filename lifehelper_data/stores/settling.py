"""Several rows of one key become one: who wins, and what is counted."""

from dataclasses import dataclass
from typing import Final

import duckdb

from lifehelper_data.domain.contract import Duplicates, Table
from lifehelper_data.stores.canonical import column_list, table_definition
from lifehelper_data.stores.duck import quote_identifier as quote
from lifehelper_data.stores.duck import quote_text as literal

ORDINAL: Final = "_ordinal"
"""Place of a row in source order, beside the contract's columns while a table is collected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a table's rows once several rows of one key were settled.

    Attributes:
        kept: rows left in the table.
        repeated: rows dropped as the same delivery again.
        duplicates: rows moved to quarantine because another row of their key won.
    """

    kept: int
    repeated: int = 0
    duplicates: int = 0


def collecting_definition(table: Table) -> str:
    """Return the column definitions of a table while it is collected."""
    return table_definition(table, f", {ORDINAL} BIGINT")


def settle_table(
    connection: duckdb.DuckDBPyConnection, table: Table, *, ordered: bool = True
) -> Settled:
    """Settle a collected table by its own rule; losers are added to `quarantine`.

    Args:
        connection: the scratch database; it holds the table and `quarantine`, both collecting.
        table: the contract table.
        ordered: whether the order of its rows means something. Where it does not, the largest row
            (columns compared in contract order, null below every value) counts as the last.
    """
    before = _count(connection, table.name)
    match table.duplicates:
        case Duplicates.NEWEST_WINS:
            first = f"updated_at DESC NULLS LAST, {_last_first(table, ordered)}"
            duplicates = _drop_losers(connection, table, first)
            return Settled(kept=before - duplicates, duplicates=duplicates)
        case Duplicates.LAST_WINS:
            duplicates = _drop_losers(connection, table, _last_first(table, ordered))
            return Settled(kept=before - duplicates, duplicates=duplicates)
        case Duplicates.REPEATED_DELIVERY:
            _merge_deliveries(connection, table)
        case Duplicates.REPEATED_ROW:
            _merge_rows(connection, table, ordered=ordered)
    kept = _count(connection, table.name)
    return Settled(kept=kept, repeated=before - kept)


def _last_first(table: Table, ordered: bool) -> str:
    """Return the order that puts the last row first."""
    if ordered:
        return f"{ORDINAL} DESC"
    return ", ".join(f"{quote(c.name)} DESC NULLS LAST" for c in table.columns)


def _drop_losers(connection: duckdb.DuckDBPyConnection, table: Table, winner_first: str) -> int:
    name, keys = quote(table.name), ", ".join(quote(k) for k in table.key)
    connection.execute(
        f"CREATE TEMP TABLE losers AS SELECT {ORDINAL} FROM "
        f"(SELECT {ORDINAL}, row_number() OVER (PARTITION BY {keys} ORDER BY {winner_first}) "
        f"AS place FROM {name} SEMI JOIN (SELECT {keys} FROM {name} GROUP BY {keys} "
        f"HAVING count(*) > 1) USING ({keys})) WHERE place > 1"
    )
    connection.execute(
        f"INSERT INTO quarantine BY NAME SELECT {literal(table.name)} AS table_name, "
        f"{_as_json(table.key)} AS key, NULL AS column_name, NULL AS value, "
        f"'duplicate' AS reason, {_as_json(tuple(c.name for c in table.columns))} AS row "
        f"FROM (SELECT {column_list(table)}, {ORDINAL} FROM {name}) "
        f"SEMI JOIN losers USING ({ORDINAL})"
    )
    count = _count(connection, "losers")
    connection.execute(f"DELETE FROM {name} WHERE {ORDINAL} IN (SELECT {ORDINAL} FROM losers)")
    connection.execute("DROP TABLE losers")
    return count


def _merge_deliveries(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    keys = ", ".join(quote(k) for k in table.key)
    _replace(
        connection,
        table,
        f"SELECT {keys}, min(arrived_at) AS arrived_at, min({ORDINAL}) AS {ORDINAL} "
        f"FROM {quote(table.name)} GROUP BY {keys}",
    )


def _merge_rows(connection: duckdb.DuckDBPyConnection, table: Table, *, ordered: bool) -> None:
    plain = ", ".join(quote(c.name) for c in table.columns if c.name != "seq")
    select = (
        f"SELECT {plain}, min({ORDINAL}) AS {ORDINAL} FROM {quote(table.name)} GROUP BY {plain}"
    )
    if table.ordered_within:
        within = ", ".join(quote(k) for k in table.ordered_within)
        first = (
            ORDINAL
            if ordered
            else ", ".join(f"{quote(c.name)} NULLS FIRST" for c in table.columns if c.name != "seq")
        )
        select = (
            f"SELECT *, row_number() OVER (PARTITION BY {within} ORDER BY {first}) AS seq "
            f"FROM ({select})"
        )
    _replace(connection, table, select)


def _replace(connection: duckdb.DuckDBPyConnection, table: Table, select: str) -> None:
    connection.execute(f"CREATE TABLE settled ({collecting_definition(table)})")
    connection.execute(f"INSERT INTO settled BY NAME {select}")
    connection.execute(f"DROP TABLE {quote(table.name)}")
    connection.execute(f"ALTER TABLE settled RENAME TO {quote(table.name)}")


def _as_json(columns: tuple[str, ...]) -> str:
    packed = ", ".join(f"{quote(name)} := {quote(name)}" for name in columns)
    return f"to_json(struct_pack({packed}))::VARCHAR"


def _count(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    ((number,),) = connection.execute(f"SELECT count(*) FROM {quote(name)}").fetchall()
    return int(number)
