"""Text becomes contract values; a row with a value that does not fit goes to quarantine.

Each kind of column has one caster: text in, (value, reason) out, the reason null where the value
is good. Reasons are words that code can branch on; the quarantine table shows them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from lifehelper_data.domain.contract import (
    PRICE_SUSPECT_ABOVE_WON,
    PRICE_SUSPECT_BELOW_WON,
    Column,
    Kind,
    Table,
)
from lifehelper_data.domain.ids import text_id
from lifehelper_data.sources.list_values import POLARS_LISTS, parse_list
from lifehelper_data.sources.timestamps import cast_timestamp

SOURCE_ID_SCHEMA: Final = {"table_name": pl.String(), "source_id": pl.String(), "id": pl.Int64()}
CLOCK_SKEW: Final = timedelta(minutes=5)
_TRUE: Final = ["true", "t", "1", "yes", "y"]
_FALSE: Final = ["false", "f", "0", "no", "n"]
_WHOLE: Final = r"^[+-]?[0-9]+(?:\.0*)?$"
_NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$"
_INT_TYPES: Final = {Kind.INT64: pl.Int64(), Kind.INT32: pl.Int32()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CastRules:
    """What casting needs to know besides the contract.

    Attributes:
        now: the current time, UTC.
        naive_timezone: timezone of timestamps without an offset; None refuses them.
        text_ids: id columns (`book_id`, `user_id`) whose text becomes a 53-bit number.
    """

    now: datetime
    naive_timezone: str | None
    text_ids: frozenset[str]

    @property
    def text_id_spaces(self) -> frozenset[str]:
        """Id spaces whose ids are text at the source."""
        return frozenset({"book_id": "books", "user_id": "users"}[name] for name in self.text_ids)


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


@dataclass(frozen=True, slots=True)
class _Cast:
    """Value and reason of one column, as expressions over the text column."""

    value: pl.Expr
    reason: pl.Expr


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
        c.name: parse_list(raw[c.name], c, rules.text_id_spaces) for c in columns if _is_list(c)
    }
    work = raw.with_columns(
        *(_clean_text(c).alias(f"clean:{c.name}") for c in columns),
        *(parsed.values.alias(f"list:{name}") for name, parsed in lists.items()),
        *(parsed.reasons.alias(f"listreason:{name}") for name, parsed in lists.items()),
    )
    casts = {c.name: _cast(c, rules) for c in columns}
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


def _is_list(column: Column) -> bool:
    return column.kind in POLARS_LISTS


def _clean_text(column: Column) -> pl.Expr:
    """Trimmed, blank as null; in NFC where the text itself is kept."""
    text = pl.col(column.name)
    if column.kind is Kind.TEXT or column.id_space is not None:
        text = text.str.normalize("NFC")
    return text.str.strip_chars().replace("", None)


def _cast(column: Column, rules: CastRules) -> _Cast:
    if _is_list(column):
        cast = _Cast(pl.col(f"list:{column.name}"), pl.col(f"listreason:{column.name}"))
    else:
        text = pl.col(f"clean:{column.name}")
        cast = _CASTERS[column.kind](text, column, rules)
        if column.choices:
            allowed = cast.value.is_in(list(column.choices))
            cast = _Cast(cast.value, _or(cast.reason, ~allowed, "not_allowed"))
        has_nul = pl.col(column.name).str.contains("\x00", literal=True)
        cast = _Cast(cast.value, _when(has_nul, "nul_character", cast.reason))
    value = cast.value
    if isinstance(column.default, bool | int):
        value = value.fill_null(column.default)
    if not column.nullable and column.default is None:
        absent = pl.col(f"clean:{column.name}").is_null()
        return _Cast(value, _when(absent, "missing", cast.reason))
    return _Cast(value, cast.reason)


def _when(condition: pl.Expr, reason: str, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(pl.lit(reason)).otherwise(otherwise)


def _or(reason: pl.Expr, condition: pl.Expr, new: str) -> pl.Expr:
    return pl.coalesce(reason, pl.when(condition).then(pl.lit(new)))


def _no_reason() -> pl.Expr:
    return pl.lit(None, dtype=pl.String)


def _text_caster(text: pl.Expr, column: Column, rules: CastRules) -> _Cast:
    del column, rules
    return _Cast(text, _no_reason())


def _bool_caster(text: pl.Expr, column: Column, rules: CastRules) -> _Cast:
    del column, rules
    lower = text.str.to_lowercase()
    value = (
        pl.when(lower.is_in(_TRUE)).then(pl.lit(True)).when(lower.is_in(_FALSE)).then(pl.lit(False))
    )
    return _Cast(value, pl.when(text.is_not_null() & value.is_null()).then(pl.lit("not_a_boolean")))


def _int_caster(text: pl.Expr, column: Column, rules: CastRules) -> _Cast:
    if column.id_space in rules.text_id_spaces:
        value = text.map_batches(_text_ids, return_dtype=pl.Int64)
        return _Cast(value, _no_reason())
    digits = text.str.replace(r"\.0*$", "").str.strip_prefix("+")
    value = digits.cast(_INT_TYPES[column.kind], strict=False)
    reason: pl.Expr = (
        pl.when(text.is_null())
        .then(_no_reason())
        .when(~text.str.contains(_WHOLE))
        .then(pl.lit("not_an_integer"))
        .when(value.is_null())
        .then(pl.lit("out_of_range"))
    )
    return _Cast(value, _out_of_range(value, column, reason))


def _float_caster(text: pl.Expr, column: Column, rules: CastRules) -> _Cast:
    del rules
    value = pl.when(text.str.contains(_NUMBER)).then(text.cast(pl.Float64, strict=False))
    reason: pl.Expr = (
        pl.when(text.is_not_null() & value.is_null())
        .then(pl.lit("not_a_number"))
        .when(value.is_infinite())
        .then(pl.lit("out_of_range"))
    )
    reason = _out_of_range(value, column, reason)
    if column.half_steps:
        doubled = value * 2
        reason = _or(reason, doubled != doubled.round(), "not_half_step")
    return _Cast(value + 0.0, reason)  # -0.0 becomes 0.0


def _out_of_range(value: pl.Expr, column: Column, reason: pl.Expr) -> pl.Expr:
    if column.minimum is not None:
        reason = _or(reason, value < column.minimum, "out_of_range")
    if column.maximum is not None:
        reason = _or(reason, value > column.maximum, "out_of_range")
    return reason


def _timestamp_caster(text: pl.Expr, column: Column, rules: CastRules) -> _Cast:
    del column
    value, reason = cast_timestamp(text, rules.naive_timezone)
    return _Cast(value, _or(reason, value > rules.now + CLOCK_SKEW, "in_the_future"))


_CASTERS: Final[Mapping[Kind, Callable[[pl.Expr, Column, CastRules], _Cast]]] = {
    Kind.TEXT: _text_caster,
    Kind.BOOL: _bool_caster,
    Kind.INT64: _int_caster,
    Kind.INT32: _int_caster,
    Kind.FLOAT: _float_caster,
    Kind.TIMESTAMP: _timestamp_caster,
}


def _text_ids(texts: pl.Series) -> pl.Series:
    distinct = texts.drop_nulls().unique()
    numbers = pl.Series([text_id(t) for t in distinct.to_list()], dtype=pl.Int64)
    return texts.replace_strict(distinct, numbers, default=None, return_dtype=pl.Int64)


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
    list_texts: Mapping[str, Mapping[int, str]],
) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=SOURCE_ID_SCHEMA)]
    for column in table.source_columns:
        if column.id_space not in rules.text_id_spaces:
            continue
        if _is_list(column):
            pairs = list_texts[column.name]
            frames.append(
                pl.DataFrame(
                    {
                        "table_name": [column.id_space] * len(pairs),
                        "source_id": list(pairs.values()),
                        "id": list(pairs),
                    },
                    schema=SOURCE_ID_SCHEMA,
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
    mine = pl.any_horizontal(pl.col(f"reason:{c.name}") == reason for c in columns)
    return bad.filter(mine).height
