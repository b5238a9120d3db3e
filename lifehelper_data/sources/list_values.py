"""List columns: a JSON array as text becomes a list of clean items."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from lifehelper_data.domain.contract import Column, Kind
from lifehelper_data.domain.ids import text_id

POLARS_LISTS: Final[Mapping[Kind, pl.DataType]] = {
    Kind.TEXT_LIST: pl.List(pl.String),
    Kind.INT_LIST: pl.List(pl.Int64),
    Kind.FLOAT_LIST: pl.List(pl.Float32),
}
_INT64: Final = 1 << 63
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,400}")
_FLOAT32_MAX: Final = float.fromhex("0x1.fffffep+127")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLists:
    """One list column of a batch.

    Attributes:
        values: list per row; null where the text is absent or bad.
        reasons: text per row; null where the value is good.
        texts: (number, text) of every text id met.
    """

    values: pl.Series
    reasons: pl.Series
    texts: frozenset[tuple[int, str]]


class _Bad(ValueError):
    """An item or list that does not fit, with the reason."""


def parse_list(texts: pl.Series, column: Column, text_id_spaces: frozenset[str]) -> ParsedLists:
    """Parse a column of JSON arrays.

    Blank items of text lists are dropped, repeated items keep their first place; a null array is
    null.

    Args:
        texts: text per row.
        column: the list column of the contract.
        text_id_spaces: id spaces whose ids are text.
    """
    met: set[tuple[int, str]] = set()
    as_item = _item_parser(column, text_id_spaces, met)
    values: list[list[object] | None] = []
    reasons: list[str | None] = []
    for text in texts.to_list():
        value, reason = None, None
        if text is not None and text.strip():
            try:
                value = _parse(text, column, as_item)
            except _Bad as problem:
                reason = str(problem)
        values.append(value)
        reasons.append(reason)
    return ParsedLists(
        values=pl.Series(values, dtype=POLARS_LISTS[column.kind]),
        reasons=pl.Series(reasons, dtype=pl.String),
        texts=frozenset(met),
    )


def _parse(text: str, column: Column, as_item: Callable[[object], object]) -> list[object] | None:
    try:
        loaded = json.loads(text, parse_constant=_refuse)
    except _Bad:
        raise
    except (ValueError, RecursionError) as error:
        raise _Bad("not_a_list") from error
    if loaded is None:
        return None
    if not isinstance(loaded, list):
        raise _Bad("not_a_list")
    items = [as_item(item) for item in loaded]
    if column.kind is not Kind.FLOAT_LIST:
        items = list(dict.fromkeys(item for item in items if item is not None))
    if column.max_items is not None and len(items) > column.max_items:
        raise _Bad("too_many_items")
    return items


def _refuse(name: str) -> object:
    del name  # NaN or an infinity
    raise _Bad("not_a_number")


def _item_parser(
    column: Column, text_id_spaces: frozenset[str], met: set[tuple[int, str]]
) -> Callable[[object], object]:
    if column.kind is Kind.FLOAT_LIST:
        return _float_item
    if column.kind is Kind.INT_LIST:
        if column.id_space not in text_id_spaces:
            return _int_item

        def as_text_id(item: object) -> object:
            is_number = isinstance(item, int) and not isinstance(item, bool)
            text = _text_item(str(item) if is_number else item)
            if text is None:
                return None
            number = text_id(text)
            met.add((number, text))
            return number

        return as_text_id

    def as_text(item: object) -> object:
        text = _text_item(item)
        if text is not None and column.choices and text not in column.choices:
            raise _Bad("not_allowed")
        return text

    return as_text


def _text_item(item: object) -> str | None:
    if not isinstance(item, str):
        raise _Bad("not_text")
    text = unicodedata.normalize("NFC", item).strip()
    if "\x00" in text:
        raise _Bad("nul_character")
    if any("\ud800" <= mark <= "\udfff" for mark in text):
        raise _Bad("broken_encoding")
    return text or None


def _int_item(item: object) -> int:
    if isinstance(item, str):
        stripped = item.strip()
        if not _WHOLE.fullmatch(stripped):
            raise _Bad("not_an_integer")
        item = int(stripped)
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    if isinstance(item, bool) or not isinstance(item, int):
        raise _Bad("not_an_integer")
    if not -_INT64 <= item < _INT64:
        raise _Bad("out_of_range")
    return item


def _float_item(item: object) -> float:
    if isinstance(item, bool) or not isinstance(item, int | float):
        raise _Bad("not_a_number")
    try:
        number = float(item)
    except OverflowError as error:
        raise _Bad("out_of_range") from error
    if not math.isfinite(number):
        raise _Bad("not_a_number")
    if abs(number) > _FLOAT32_MAX:
        raise _Bad("out_of_range")
    return number
