"""Casting single values in tests."""

from collections.abc import Mapping
from datetime import UTC, datetime

import polars as pl

from lifehelper_data.domain.contract import TABLES, Column, Duplicates, Kind, Table
from lifehelper_data.sources.casting import CastRows, CastRules, cast_rows

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SEOUL = CastRules(now=NOW, naive_timezone="Asia/Seoul", text_ids=frozenset())
OFFSETS_ONLY = CastRules(now=NOW, naive_timezone=None, text_ids=frozenset())
TEXT_IDS = CastRules(now=NOW, naive_timezone=None, text_ids=frozenset({"book_id", "user_id"}))


def cast_column(column: Column, *texts: str | None, rules: CastRules = OFFSETS_ONLY) -> CastRows:
    """Cast the only column of a table."""
    table = Table(
        name="t",
        meaning="",
        columns=(column,),
        key=(column.name,),
        duplicates=Duplicates.LAST_WINS,
    )
    return cast_rows(
        pl.DataFrame({column.name: texts}, schema={column.name: pl.String}), table, rules
    )


def outcome(column: Column, text: str | None, rules: CastRules = OFFSETS_ONLY) -> object:
    """The cast value, or the reason of the quarantine as text in brackets."""
    cast = cast_column(column, text, rules=rules)
    assert cast.good.height + cast.bad.height == 1
    if cast.bad.height:
        (row,) = cast.bad.rows(named=True)
        assert row["column_name"] == column.name
        assert row["value"] == text
        return f"<{row['reason'].removeprefix('bad_value:')}>"
    value = cast.good[column.name].to_list()[0]
    return value


def of_kind(kind: Kind) -> Column:
    """A nullable column without rules."""
    return Column(name="x", kind=kind, meaning="")


def column(table: str, name: str) -> Column:
    """A column of the contract."""
    return TABLES[table].column(name)


def cast(table: str, *rows: Mapping[str, str | None], rules: CastRules = OFFSETS_ONLY) -> CastRows:
    """Cast rows of a contract table; columns that no row has are absent."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    raw = pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in names},
        schema=dict.fromkeys(names, pl.String()),
    )
    return cast_rows(raw, TABLES[table], rules)
