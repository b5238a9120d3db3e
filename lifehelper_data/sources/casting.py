"""Text becomes contract values; a row with a value that does not fit goes to quarantine.

Each kind of column has one caster: text in, (value, reason) out, the reason null where the value
is good. Reasons are words that code can branch on; the quarantine table shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from lifehelper_data.domain.contract import (
    PRICE_SUSPECT_ABOVE_WON,
    PRICE_SUSPECT_BELOW_WON,
    Column,
    Table,
)
from lifehelper_data.sources.column_casts import CastRules, cast_column, clean_text, is_list
from lifehelper_data.sources.list_values import parse_list

__all__ = ["CastRows", "CastRules", "cast_rows"]

SOURCE_ID_SCHEMA: Final = {"table_name": pl.String(), "source_id": pl.String(), "id": pl.Int64()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CastRows:
    """A batch after casting.

    Attributes:
        good: rows that keep the contract, with its source and value-derived columns.
        bad: quarantined rows, in the columns of the `quarantine` table.
        source_ids: text ids met in good rows, in the columns of the `source_ids` table.
        future: how many rows are in quarantine only because their time has not come.
    """

    good: pl.DataFrame
    bad: pl.DataFrame
    source_ids: pl.DataFrame
    future: int


def cast_rows(raw: pl.DataFrame, table: Table, rules: CastRules) -> CastRows:
    """Cast one batch.

    Args:
        raw: all-text columns named as in the contract; optional ones may be absent.
        table: the contract table.
        rules: see CastRules.

    Returns:
        The split batch; `good` + `bad` have as many rows as `raw`, each in its order.
    """
    columns = table.source_columns
    missing = [c.name for c in columns if c.name not in raw.columns]
    raw = raw.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in missing).select(
        c.name for c in columns
    )
    lists = {
        c.name: parse_list(raw[c.name], c, rules.text_id_spaces) for c in columns if is_list(c)
    }
    work = raw.with_columns(
        *(clean_text(c).alias(f"clean:{c.name}") for c in columns),
        *(parsed.values.alias(f"list:{name}") for name, parsed in lists.items()),
        *(parsed.reasons.alias(f"listreason:{name}") for name, parsed in lists.items()),
    )
    casts = {c.name: cast_column(c, rules) for c in columns}
    work = work.with_columns(
        *(cast.value.alias(f"value:{name}") for name, cast in casts.items()),
        *(cast.reason.alias(f"reason:{name}") for name, cast in casts.items()),
    )
    work = work.with_columns(
        pl.coalesce(
            pl.when(pl.col(f"reason:{c.name}").is_not_null()).then(pl.lit(c.name)) for c in columns
        ).alias("bad:column")
    )
    is_bad = pl.col("bad:column").is_not_null()
    bad = work.filter(is_bad)
    good = work.filter(~is_bad)
    return CastRows(
        good=_good_rows(good, table),
        bad=_quarantine_rows(bad, table),
        source_ids=_source_ids(good, table, rules, {n: p.texts for n, p in lists.items()}),
        future=_reason_count(bad, columns, "in_the_future"),
    )


def _good_rows(good: pl.DataFrame, table: Table) -> pl.DataFrame:
    rows = good.select(pl.col(f"value:{c.name}").alias(c.name) for c in table.source_columns)
    for column in table.source_columns:
        if column.default == "event_time" and table.event_time:
            rows = rows.with_columns(pl.col(column.name).fill_null(pl.col(table.event_time)))
    derived = [
        _DERIVED[c.name].alias(c.name) for c in table.columns if c.derived and c.name in _DERIVED
    ]
    return rows.with_columns(derived)


_DERIVED: Final[Mapping[str, pl.Expr]] = {
    "price_suspect": (
        (pl.col("price") < PRICE_SUSPECT_BELOW_WON) | (pl.col("price") > PRICE_SUSPECT_ABOVE_WON)
    ).fill_null(False),
}
"""Columns computed from the row itself; `seq` needs the whole table and is added in the store."""


def _quarantine_rows(bad: pl.DataFrame, table: Table) -> pl.DataFrame:
    names = [c.name for c in table.source_columns]

    def first(prefix: str) -> pl.Expr:
        return pl.coalesce(
            pl.when(pl.col("bad:column") == name).then(pl.col(f"{prefix}{name}")) for name in names
        )

    return bad.select(
        pl.lit(table.name).alias("table_name"),
        pl.struct(name for name in table.key if name in names).struct.json_encode().alias("key"),
        pl.col("bad:column").alias("column_name"),
        first("").alias("value"),
        pl.concat_str(pl.lit("bad_value:"), first("reason:")).alias("reason"),
        pl.struct(names).struct.json_encode().alias("row"),
    )


def _source_ids(
    good: pl.DataFrame,
    table: Table,
    rules: CastRules,
    list_texts: Mapping[str, frozenset[tuple[int, str]]],
) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=SOURCE_ID_SCHEMA)]
    for column in table.source_columns:
        if column.id_space not in rules.text_id_spaces:
            continue
        if is_list(column):
            kept = set(good[f"value:{column.name}"].explode().drop_nulls().to_list())
            frames.append(
                pl.DataFrame(
                    [
                        (column.id_space, text, number)
                        for number, text in sorted(list_texts[column.name])
                        if number in kept
                    ],
                    schema=SOURCE_ID_SCHEMA,
                    orient="row",
                )
            )
        else:
            frames.append(
                good.select(
                    pl.lit(column.id_space).alias("table_name"),
                    pl.col(f"clean:{column.name}").alias("source_id"),
                    pl.col(f"value:{column.name}").alias("id"),
                )
                .drop_nulls()
                .unique(maintain_order=True)
            )
    return pl.concat(frames)


def _reason_count(bad: pl.DataFrame, columns: tuple[Column, ...], reason: str) -> int:
    alone = pl.all_horizontal(
        pl.col(f"reason:{c.name}").fill_null(reason) == reason for c in columns
    )
    return bad.filter(alone).height
