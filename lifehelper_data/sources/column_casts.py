"""One caster per kind of column: text in, (value, reason) out, as expressions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from lifehelper_data.domain.contract import Column, Kind
from lifehelper_data.domain.ids import text_id
from lifehelper_data.sources.list_values import POLARS_LISTS
from lifehelper_data.sources.timestamps import cast_timestamp

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


@dataclass(frozen=True, slots=True)
class ColumnCast:
    """Value and reason of one column, as expressions over the text column."""

    value: pl.Expr
    reason: pl.Expr


def is_list(column: Column) -> bool:
    """Whether a column holds lists."""
    return column.kind in POLARS_LISTS


def clean_text(column: Column) -> pl.Expr:
    """Trimmed, blank as null; in NFC where the text itself is kept."""
    text = pl.col(column.name)
    if column.kind is Kind.TEXT or column.id_space is not None:
        text = text.str.normalize("NFC")
    return text.str.strip_chars().replace("", None)


def cast_column(column: Column, rules: CastRules) -> ColumnCast:
    """Cast `clean:<name>` (of a list column: `list:<name>`), with every rule of the column."""
    if is_list(column):
        cast = ColumnCast(pl.col(f"list:{column.name}"), pl.col(f"listreason:{column.name}"))
    else:
        text = pl.col(f"clean:{column.name}")
        cast = _CASTERS[column.kind](text, column, rules)
        if column.choices:
            allowed = cast.value.is_in(list(column.choices))
            cast = ColumnCast(cast.value, _or(cast.reason, ~allowed, "not_allowed"))
        has_nul = pl.col(column.name).str.contains("\x00", literal=True)
        cast = ColumnCast(cast.value, _when(has_nul, "nul_character", cast.reason))
    value = cast.value
    if isinstance(column.default, bool | int):
        value = value.fill_null(column.default)
    if not column.nullable and column.default is None:
        absent = pl.col(f"clean:{column.name}").is_null()
        if is_list(column):  # the text may be a JSON null
            absent = cast.value.is_null() & cast.reason.is_null()
        return ColumnCast(value, _when(absent, "missing", cast.reason))
    return ColumnCast(value, cast.reason)


def _when(condition: pl.Expr, reason: str, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(pl.lit(reason)).otherwise(otherwise)


def _or(reason: pl.Expr, condition: pl.Expr, new: str) -> pl.Expr:
    return pl.coalesce(reason, pl.when(condition).then(pl.lit(new)))


def _no_reason() -> pl.Expr:
    return pl.lit(None, dtype=pl.String)


def _text_caster(text: pl.Expr, column: Column, rules: CastRules) -> ColumnCast:
    del column, rules
    return ColumnCast(text, _no_reason())


def _bool_caster(text: pl.Expr, column: Column, rules: CastRules) -> ColumnCast:
    del column, rules
    lower = text.str.to_lowercase()
    value = (
        pl.when(lower.is_in(_TRUE)).then(pl.lit(True)).when(lower.is_in(_FALSE)).then(pl.lit(False))
    )
    return ColumnCast(
        value, pl.when(text.is_not_null() & value.is_null()).then(pl.lit("not_a_boolean"))
    )


def _int_caster(text: pl.Expr, column: Column, rules: CastRules) -> ColumnCast:
    if column.id_space in rules.text_id_spaces:
        value = text.map_batches(_text_ids, return_dtype=pl.Int64)
        return ColumnCast(value, _no_reason())
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
    return ColumnCast(value, _out_of_range(value, column, reason))


def _float_caster(text: pl.Expr, column: Column, rules: CastRules) -> ColumnCast:
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
    return ColumnCast(value + 0.0, reason)  # -0.0 becomes 0.0


def _out_of_range(value: pl.Expr, column: Column, reason: pl.Expr) -> pl.Expr:
    if column.minimum is not None:
        reason = _or(reason, value < column.minimum, "out_of_range")
    if column.maximum is not None:
        reason = _or(reason, value > column.maximum, "out_of_range")
    return reason


def _timestamp_caster(text: pl.Expr, column: Column, rules: CastRules) -> ColumnCast:
    del column
    value, reason = cast_timestamp(text, rules.naive_timezone)
    return ColumnCast(value, _or(reason, value > rules.now + CLOCK_SKEW, "in_the_future"))


_CASTERS: Final[Mapping[Kind, Callable[[pl.Expr, Column, CastRules], ColumnCast]]] = {
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
