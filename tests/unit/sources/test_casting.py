import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.contract import TABLES, Kind
from lifehelper_data.domain.ids import text_id
from lifehelper_data.sources.casting import CastRules
from tests.conftest import examples
from tests.unit.sources.cast_kit import (
    NOW,
    OFFSETS_ONLY,
    SEOUL,
    TEXT_IDS,
    cast,
    cast_column,
    column,
    of_kind,
    outcome,
)

NULLS = [None, "", " ", "\t\n", "\u00a0", "\u3000 "]


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("text", NULLS)
def test_blank_is_null_in_every_kind(kind: Kind, text: str | None) -> None:
    assert outcome(of_kind(kind), text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        (" +7 ", 7),
        ("-7", -7),
        ("-0", 0),
        ("007", 7),
        ("6.0", 6),
        ("6.000", 6),
        ("6.", 6),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", "<out_of_range>"),
        ("-9223372036854775809", "<out_of_range>"),
        ("9" * 400, "<out_of_range>"),
        ("1e3", "<not_an_integer>"),
        ("3.7", "<not_an_integer>"),
        ("6.01", "<not_an_integer>"),
        ("1,000", "<not_an_integer>"),
        ("1_000", "<not_an_integer>"),
        ("0x10", "<not_an_integer>"),
        ("++7", "<not_an_integer>"),
        ("+-7", "<not_an_integer>"),
        ("+", "<not_an_integer>"),
        ("- 7", "<not_an_integer>"),
        (".0", "<not_an_integer>"),
        ("７", "<not_an_integer>"),
        ("٣", "<not_an_integer>"),
        ("²", "<not_an_integer>"),
        ("nan", "<not_an_integer>"),
        ("inf", "<not_an_integer>"),
        ("true", "<not_an_integer>"),
        ("7\n8", "<not_an_integer>"),
        ("7\x00", "<nul_character>"),
    ],
)
def test_int64(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.INT64), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("2147483647", 2**31 - 1),
        ("2147483648", "<out_of_range>"),
        ("-1", "<out_of_range>"),
        ("15,000", "<not_an_integer>"),
        ("15000원", "<not_an_integer>"),
    ],
)
def test_price_is_whole_won_from_zero_to_the_largest_int32(text: str, expected: object) -> None:
    assert outcome(column("books", "price"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", "<out_of_range>"), ("1", 1), ("9999", 9999), ("10000", "<out_of_range>")],
)
def test_year_is_1_to_9999(text: str, expected: object) -> None:
    assert outcome(column("books", "pub_year"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [(t, True) for t in ("true", "TRUE", " t ", "1", "yes", "Y")]
    + [(t, False) for t in ("false", "False", "f", "0", "no", "N")]
    + [(t, "<not_a_boolean>") for t in ("2", "예", "on", "null", "1.0", "truee", "-1")]
    + [("true\x00", "<nul_character>")],
)
def test_bool(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.BOOL), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5", 1.5),
        (" +1.5 ", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("1e+02", 100.0),
        ("1e-400", 0.0),
        ("1e308", 1e308),
        ("1e309", "<out_of_range>"),
        ("9" * 400, "<out_of_range>"),
        ("-" + "9" * 400, "<out_of_range>"),
        ("1e99999", "<not_a_number>"),
        ("nan", "<not_a_number>"),
        ("NaN", "<not_a_number>"),
        ("inf", "<not_a_number>"),
        ("-Infinity", "<not_a_number>"),
        ("1,5", "<not_a_number>"),
        ("1.5.5", "<not_a_number>"),
        ("1.5x", "<not_a_number>"),
        (".", "<not_a_number>"),
        ("e5", "<not_a_number>"),
        ("0x1p3", "<not_a_number>"),
        ("１.５", "<not_a_number>"),
    ],
)
def test_float(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.FLOAT), text) == expected


def test_negative_zero_is_zero() -> None:
    value = outcome(of_kind(Kind.FLOAT), "-0.0")
    assert isinstance(value, float)
    assert math.copysign(1, value) == 1


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_written_float_comes_back(number: float) -> None:
    assert outcome(of_kind(Kind.FLOAT), repr(number)) == number


@given(number=st.integers(-(2**70), 2**70))
def test_written_integer_comes_back_or_is_out_of_range(number: int) -> None:
    fits = -(2**63) <= number < 2**63
    assert outcome(of_kind(Kind.INT64), str(number)) == (number if fits else "<out_of_range>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", 0.5),
        ("5", 5.0),
        ("4.50", 4.5),
        ("0", "<out_of_range>"),
        ("5.5", "<out_of_range>"),
        ("-1", "<out_of_range>"),
        ("4.3", "<not_half_step>"),
        ("4.4999999", "<not_half_step>"),
        ("5.000000000000001", "<out_of_range>"),
        ("별점 4", "<not_a_number>"),
        (None, "<missing>"),
    ],
)
def test_rating_is_half_steps_from_half_a_star_to_five(text: str | None, expected: object) -> None:
    assert outcome(column("user_reviews", "rating"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0.0), ("1", 1.0), ("1.0001", "<out_of_range>"), ("-0.1", "<out_of_range>")],
)
def test_confidence_is_0_to_1(text: str, expected: object) -> None:
    assert outcome(column("memories", "confidence"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("책", "책"),
        (" 책 \n", "책"),
        ("\u00a0책\u3000", "책"),
        ("\u1100\u1161", "\uac00"),  # NFC
        ("ｶ", "ｶ"),  # NFC, not NFKC
        ("a\u0000b", "<nul_character>"),
        ("\u0000", "<nul_character>"),
        ("null", "null"),
        ("x" * 100_000, "x" * 100_000),
    ],
)
def test_text_is_composed_and_trimmed(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.TEXT), text) == expected


@pytest.mark.parametrize("text", NULLS)
def test_title_must_not_be_blank(text: str | None) -> None:
    assert outcome(column("books", "title"), text) == "<missing>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("core", "core"),
        (" partial ", "partial"),
        ("Core", "<not_allowed>"),
        ("core,partial", "<not_allowed>"),
        (None, "<missing>"),
    ],
)
def test_choices(text: str | None, expected: object) -> None:
    assert outcome(column("category_map", "strength"), text) == expected


@pytest.mark.parametrize(
    ("price", "suspect"),
    [
        ("0", True),
        ("999", True),
        ("1000", False),
        ("500000", False),
        ("500001", True),
        (None, False),
    ],
)
def test_suspect_price_is_flagged_and_kept(price: str | None, suspect: bool) -> None:
    good = cast("books", {"book_id": "1", "title": "책", "price": price}).good
    assert good["price_suspect"].to_list() == [suspect]
    assert good["price"].to_list() == [None if price is None else int(price)]


# Defaults


@pytest.mark.parametrize("text", NULLS)
def test_unknown_stock_counts_as_false(text: str | None) -> None:
    assert outcome(column("books", "in_stock"), text) is False


def test_absent_optional_columns_get_null_or_their_default() -> None:
    (row,) = cast("books", {"book_id": "1", "title": "책"}).good.rows(named=True)
    assert row == {
        "book_id": 1, "title": "책", "author": None, "publisher": None, "price": None,
        "in_stock": False, "cover_url": None, "category": None, "pub_year": None,
        "description": None, "listed_at": None, "updated_at": None, "price_suspect": False,
    }  # fmt: skip


def test_bad_stock_is_not_the_default() -> None:
    assert outcome(column("books", "in_stock"), "많음") == "<not_a_boolean>"


def test_number_of_ratings_defaults_to_zero() -> None:
    assert outcome(column("book_popularity", "rating_count"), None) == 0


def test_missing_arrival_is_the_event_time() -> None:
    row = {"user_id": "1", "book_id": "2", "purchased_at": "2026-01-01T00:00:00Z"}
    good = cast("user_purchases", row, row | {"arrived_at": "2026-01-02T00:00:00Z"}).good
    assert [at.isoformat() for at in good["arrived_at"].to_list()] == [
        "2026-01-01T00:00:00+00:00",
        "2026-01-02T00:00:00+00:00",
    ]


# Which column, and the whole row


def test_first_bad_column_in_contract_order_is_named() -> None:
    row = {"price": "x", "title": "", "book_id": "1.5", "in_stock": "?"}
    bad = cast("books", row, row | {"book_id": "1"}, row | {"book_id": "1", "title": "책"}).bad
    assert bad.select("column_name", "value", "reason").rows() == [
        ("book_id", "1.5", "bad_value:not_an_integer"),
        ("title", "", "bad_value:missing"),
        ("price", "x", "bad_value:not_an_integer"),
    ]


def test_quarantined_row_is_complete_and_as_delivered() -> None:
    row = {"book_id": " 7 ", "title": '\u1100\u1161 "x"\n', "price": "-1"}
    (bad,) = cast("books", row).bad.rows(named=True)
    assert bad["table_name"] == "books"
    assert json.loads(bad["key"]) == {"book_id": " 7 "}
    names = [c.name for c in TABLES["books"].source_columns]
    assert json.loads(bad["row"]) == dict.fromkeys(names) | row


def test_key_of_an_event_is_complete() -> None:
    row = {"user_id": "1", "book_id": "x", "rating": "5", "created_at": "2026-01-01T00:00:00Z"}
    (bad,) = cast("user_reviews", row).bad.rows(named=True)
    assert json.loads(bad["key"]) == row


def test_good_and_bad_rows_keep_their_order() -> None:
    rows = [{"book_id": str(n), "title": "" if n % 3 == 0 else f"t{n}"} for n in range(10)]
    result = cast("books", *rows)
    assert result.good["book_id"].to_list() == [1, 2, 4, 5, 7, 8]
    assert [json.loads(key)["book_id"] for key in result.bad["key"]] == ["0", "3", "6", "9"]


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_no_row_is_lost_whatever_the_text(table: str, data: st.DataObject) -> None:
    columns = [c.name for c in TABLES[table].source_columns]
    texts = st.none() | st.sampled_from(
        ["", " ", "1", "-1", "1e999", "9" * 400, "nan", "[]", "[1]", '["가"]', "[[1]]", "{}",
         "[1e400]", '["+-5"]', "[NaN]", "[1e300]", "2026-01-01T00:00:00Z", "0000-01-01",
         "9999-12-31T23:59:59Z",
         "2026-02-30", "\x00", "core", "protocol", "mood", "true", "[true]", '["\\ud800"]', "null"]
    ) | st.text(max_size=8)  # fmt: skip
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(columns, texts)), max_size=5))
    rules = data.draw(st.sampled_from([OFFSETS_ONLY, SEOUL, TEXT_IDS]))
    result = cast(table, *rows, rules=rules)
    assert result.good.height + result.bad.height == len(rows)
    kept = [json.loads(row) for row in result.bad["row"]]
    expected = iter(rows)
    assert all(row in expected for row in kept)  # a subsequence, complete
    assert result.future <= result.bad.height


# Ids


def test_text_ids_are_the_first_53_bits_of_sha_256_and_listed() -> None:
    rows = [
        {"user_id": " user-1 ", "book_id": "\u1100\u1161", "purchased_at": "2026-01-01T00:00:00Z"},
        {"user_id": "user-1", "book_id": "가", "purchased_at": "2026-01-02T00:00:00Z"},
    ]
    result = cast("user_purchases", *rows, rules=TEXT_IDS)
    assert result.good["user_id"].to_list() == [text_id("user-1")] * 2
    assert result.good["book_id"].to_list() == [text_id("가")] * 2
    assert sorted(result.source_ids.rows()) == [
        ("books", "가", text_id("가")),
        ("users", "user-1", text_id("user-1")),
    ]


def test_number_like_text_ids_are_text() -> None:
    result = cast("books", {"book_id": "007", "title": "책"}, rules=TEXT_IDS)
    assert result.good["book_id"].to_list() == [text_id("007")] != [text_id("7")]


def test_only_declared_id_columns_are_text() -> None:
    rules = CastRules(now=NOW, naive_timezone=None, text_ids=frozenset({"book_id"}))
    row = {"user_id": "u1", "book_id": "b1", "purchased_at": "2026-01-01T00:00:00Z"}
    result = cast("user_purchases", row, row | {"user_id": "1"}, rules=rules)
    assert result.bad["column_name"].to_list() == ["user_id"]
    assert result.source_ids.rows() == [("books", "b1", text_id("b1"))]


def test_ids_of_quarantined_rows_are_not_listed() -> None:
    row = {"user_id": "u1", "liked_book_ids": '["a", "b"]'}
    bad = {"user_id": "u2", "liked_book_ids": '["c"]', "categories": "소설"}
    half = {"user_id": "u3", "liked_book_ids": '["d", []]'}
    result = cast("onboarding", row, bad, half, rules=TEXT_IDS)
    assert sorted(source for _, source, _ in result.source_ids.rows()) == ["a", "b", "u1"]


def test_blank_and_null_text_ids_are_missing() -> None:
    result = cast("books", {"book_id": " ", "title": "책"}, rules=TEXT_IDS)
    assert result.bad["reason"].to_list() == ["bad_value:missing"]
    assert result.source_ids.is_empty()


@pytest.mark.parametrize("text", [None, "1", "x"])
def test_batch_gives_what_single_rows_give(text: str | None) -> None:
    texts = ["1", text, "2", text]
    batch = cast_column(of_kind(Kind.INT64), *texts)
    singles = [cast_column(of_kind(Kind.INT64), one) for one in texts]
    assert batch.good["x"].to_list() == [v for s in singles for v in s.good["x"].to_list()]
    assert batch.bad.rows() == [row for s in singles for row in s.bad.rows()]


def test_future_counts_rows_whose_only_fault_is_their_time() -> None:
    row = {"user_id": "1", "book_id": "2", "purchased_at": "2026-03-01T10:00:00Z"}
    result = cast("user_purchases", row, row | {"book_id": "x"}, row | {"arrived_at": "x"})
    assert (result.bad.height, result.future) == (3, 1)
