"""All-text tables of the scratch database: hashed whatever their order, and merged."""

from collections.abc import Sequence
from typing import Final

import duckdb

from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.sources.scratch import quoted

_LOW: Final = (1 << 64) - 1
_COUNT: Final = "count!"  # a name no contract column has


def rows_digest(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str]
) -> tuple[int, str]:
    """Return (rows, hex digest) of an all-text relation; their order does not matter.

    An additive multiset hash as of domain.identity, over MD5: 128 bits guard against accidents,
    and a million rows take a second of one core instead of two and a half with SHA-256.

    Args:
        connection: where the relation lives.
        relation: SQL that can stand after FROM.
        columns: its columns, all of them text; their order is part of the digest.
    """
    text = " || ".join(
        f"coalesce(strlen({name}) || ':' || {name}, '~')" for name in map(quoted, columns)
    )
    ((count, low, high),) = connection.execute(
        f"SELECT count(*), coalesce(sum((h & {_LOW}::UHUGEINT)::HUGEINT), 0), "
        "coalesce(sum((h >> 64)::HUGEINT), 0) "
        f"FROM (SELECT md5_number({text}) AS h FROM {relation})"
    ).fetchall()
    found = RowsHash.of_sums(int(count), (int(low), int(high), 0, 0))
    return found.rows, found.identity(",".join(columns))


def replace_by_key(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    newer: str,
    *,
    columns: Sequence[str],
    key: Sequence[str],
) -> None:
    """Put the rows of `newer` in the place of all rows of `table` with the same key.

    Rows whose key is not whole replace nothing; they are united (see `unite`).

    Args:
        connection: where both all-text tables live; `newer` loses its keyed rows.
        table: what is changed.
        newer: what was read later.
        columns: the columns of both.
        key: those that identify a row.
    """
    names, keys = _listed(columns), _listed(key)
    whole = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in key)
    old, new = quoted(table), quoted(newer)
    connection.execute(
        f"DELETE FROM {old} WHERE ({keys}) IN (SELECT ({keys}) FROM {new} WHERE {whole})"
    )
    connection.execute(f"INSERT INTO {old} ({names}) SELECT {names} FROM {new} WHERE {whole}")
    connection.execute(f"DELETE FROM {new} WHERE {whole}")
    unite(connection, table, newer, columns=columns)


def unite(
    connection: duckdb.DuckDBPyConnection, table: str, newer: str, *, columns: Sequence[str]
) -> None:
    """Add those rows of `newer` that `table` does not hold yet.

    A row that is in both is there as often as in the one that holds it more often: what was read
    twice is not doubled, and what the source holds twice stays twice.

    Args:
        connection: where both all-text tables live.
        table: what is changed.
        newer: what was read later.
        columns: the columns of both.
    """
    names, count = _listed(columns), quoted(_COUNT)
    same = " AND ".join(f"n.{q} IS NOT DISTINCT FROM o.{q}" for q in map(quoted, columns))
    picked = ", ".join(f"n.{q}" for q in map(quoted, columns))
    select, group = f"SELECT {names}, count(*) AS {count} FROM", f"GROUP BY {names}"
    old, new = quoted(table), quoted(newer)
    connection.execute(
        f"INSERT INTO {old} ({names}) SELECT {names} FROM ("
        f"SELECT {picked}, unnest(range(n.{count} - coalesce(o.{count}, 0))) "
        f"FROM ({select} {new} {group}) AS n "
        f"LEFT JOIN ({select} {old} AS o SEMI JOIN {new} AS n ON {same} {group}) AS o ON {same})"
    )


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))
