"""SQL that turns a row into canonical text, hashes it and sums the hashes."""

from typing import Final

import duckdb

from lifehelper_data.domain.contract import SQL_TYPES, Kind, Table
from lifehelper_data.domain.identity import LANES, RowsHash
from lifehelper_data.stores.duck import quote_identifier as quote

_NOT_IDENTITY: Final = {
    ("rejects", "path"),
    ("rejects", "line"),
    ("preset_vectors", "vector"),
    ("similarity_calibration", "floor"),
    ("similarity_calibration", "ceiling"),
}
"""Columns that say where a row came from, or that an encoder computed; a digest of what the
encoder was given stands beside the latter."""


def column_list(table: Table) -> str:
    """Return the table's columns, quoted, in contract order."""
    return ", ".join(quote(c.name) for c in table.columns)


def order_by(table: Table) -> str:
    """Return the total order the table is stored in."""
    return ", ".join(f"{quote(name)} NULLS FIRST" for name in table.sort_key)


def schema_text(table: Table) -> str:
    """Return the column names and types that identity covers."""
    return ",".join(
        f"{c.name}:{c.kind}" for c in table.columns if (table.name, c.name) not in _NOT_IDENTITY
    )


def table_definition(table: Table, extra: str = "") -> str:
    """Return the column definitions of a CREATE TABLE."""
    return ", ".join(f"{quote(c.name)} {SQL_TYPES[c.kind]}" for c in table.columns) + extra


def rows_hash(connection: duckdb.DuckDBPyConnection, table: Table, relation: str) -> RowsHash:
    """Hash the rows of a relation that has the table's columns.

    Args:
        connection: where the relation lives; its TimeZone does not matter.
        table: the contract table.
        relation: SQL that can stand after FROM.
    """
    lanes = ", ".join(
        f"coalesce(sum(('0x' || substr(h, {1 + 16 * lane}, 16))::UBIGINT::HUGEINT), 0)"
        for lane in range(LANES)
    )
    ((count, *sums),) = connection.execute(
        f"SELECT count(*), {lanes} FROM (SELECT sha256({_row_text(table)}) AS h FROM {relation})"
    ).fetchall()
    return RowsHash.of_sums(int(count), (int(value) for value in sums))


def _row_text(table: Table) -> str:
    """Length-prefixed values, so that no two different rows have the same text."""
    return " || ".join(
        f"coalesce(strlen({text}) || ':' || {text}, '~')"
        for text in (
            _value_text(c.kind, quote(c.name))
            for c in table.columns
            if (table.name, c.name) not in _NOT_IDENTITY
        )
    )


def _value_text(kind: Kind, column: str) -> str:
    match kind:
        case Kind.TEXT:
            return column
        case Kind.TIMESTAMP:
            return f"epoch_us({column})::VARCHAR"
        case Kind.TEXT_LIST | Kind.INT_LIST | Kind.FLOAT_LIST:
            return f"to_json({column})::VARCHAR"
        case Kind.FLOAT | Kind.INT64 | Kind.INT32 | Kind.BOOL:
            return f"{column}::VARCHAR"
