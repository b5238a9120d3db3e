"""Whatever type a SELECT delivers is cast like text, or quarantined."""

from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import pytest

from lifehelper_data.domain.contract import Kind
from lifehelper_data.sources.scratch import as_text, connect_scratch
from tests.unit.sources.cast_kit import SEOUL, of_kind, outcome


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_scratch(":memory:") as scratch:
        yield scratch


def delivered(connection: duckdb.DuckDBPyConnection, expression: str, kind: Kind) -> object:
    (duck_type,) = connection.sql(f"SELECT {expression} AS x").types
    ((text,),) = connection.execute(
        f"SELECT {as_text('x', duck_type)} FROM (SELECT {expression} AS x)"
    ).fetchall()
    return outcome(of_kind(kind), text, SEOUL)


TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SEOUL_TIME = datetime(2026, 1, 1, 18, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("7::TINYINT", Kind.INT64, 7),
        ("7::UBIGINT", Kind.INT64, 7),
        ("18446744073709551615::UBIGINT", Kind.INT64, "<out_of_range>"),
        ("9223372036854775807::BIGINT", Kind.INT64, 2**63 - 1),
        ("170141183460469231731687303715884105727::HUGEINT", Kind.INT64, "<out_of_range>"),
        ("sum(7::BIGINT)", Kind.INT64, 7),  # a HUGEINT
        ("7::DOUBLE", Kind.INT64, 7),
        ("7.5::DOUBLE", Kind.INT64, "<not_an_integer>"),
        ("7.00::DECIMAL(10, 2)", Kind.INT64, 7),
        ("7.25::DECIMAL(10, 2)", Kind.INT64, "<not_an_integer>"),
        ("true", Kind.INT64, "<not_an_integer>"),
        ("date '2026-01-02'", Kind.INT64, "<not_an_integer>"),
        ("1.5::DOUBLE", Kind.FLOAT, 1.5),
        ("0.1::DOUBLE + 0.2::DOUBLE", Kind.FLOAT, 0.1 + 0.2),
        ("1e300::DOUBLE", Kind.FLOAT, 1e300),
        ("5e-324::DOUBLE", Kind.FLOAT, 5e-324),
        ("4.5::DECIMAL(3, 1)", Kind.FLOAT, 4.5),
        ("'nan'::DOUBLE", Kind.FLOAT, "<not_a_number>"),
        ("'-inf'::DOUBLE", Kind.FLOAT, "<not_a_number>"),
        ("true", Kind.BOOL, True),
        ("1::BIGINT", Kind.BOOL, True),
        ("2::BIGINT", Kind.BOOL, "<not_a_boolean>"),
        ("timestamptz '2026-01-02 03:04:05+00'", Kind.TIMESTAMP, TIME),
        ("timestamptz '2026-01-02 12:04:05+09'", Kind.TIMESTAMP, TIME),
        ("timestamp '2026-01-02 03:04:05'", Kind.TIMESTAMP, SEOUL_TIME),
        ("timestamp_ns '2026-01-02 03:04:05'", Kind.TIMESTAMP, SEOUL_TIME),
        ("timestamp_s '2026-01-02 03:04:05'", Kind.TIMESTAMP, SEOUL_TIME),
        ("timezone('Asia/Seoul', timestamp '2026-01-02 03:04:05')", Kind.TIMESTAMP, SEOUL_TIME),
        ("to_timestamp(0)", Kind.TIMESTAMP, datetime(1970, 1, 1, tzinfo=UTC)),
        ("date '2026-01-02'", Kind.TIMESTAMP, datetime(2026, 1, 1, 15, tzinfo=UTC)),
        ("'infinity'::TIMESTAMPTZ", Kind.TIMESTAMP, "<not_a_timestamp>"),
        ("date '0044-03-15 (BC)'", Kind.TIMESTAMP, "<not_a_timestamp>"),
        ("date '12026-01-02'", Kind.TIMESTAMP, "<not_a_timestamp>"),
        ("time '03:04:05'", Kind.TIMESTAMP, "<not_a_timestamp>"),
        ("interval 3 day", Kind.TIMESTAMP, "<not_a_timestamp>"),
        ("['가', 'b']", Kind.TEXT_LIST, ["가", "b"]),
        ("['a', NULL]", Kind.TEXT_LIST, "<not_text>"),
        ("['\"', '\\']", Kind.TEXT_LIST, ['"', "\\"]),
        ("array_value('a', 'b')", Kind.TEXT_LIST, ["a", "b"]),
        ("[]", Kind.TEXT_LIST, []),
        ("['a']::JSON", Kind.TEXT_LIST, ["a"]),
        ("[date '2026-01-02']", Kind.TEXT_LIST, ["2026-01-02"]),
        ("[['a']]", Kind.TEXT_LIST, "<not_text>"),
        ("{'a': 1}", Kind.TEXT_LIST, "<not_a_list>"),
        ("[1, 2]::BIGINT[]", Kind.INT_LIST, [1, 2]),
        ("[1.5, 2]::FLOAT[]", Kind.FLOAT_LIST, [1.5, 2.0]),
        ("['nan'::DOUBLE]", Kind.FLOAT_LIST, "<not_a_number>"),
        ("NULL::INTEGER[]", Kind.INT_LIST, None),
        ("{'a': 1, 'b': ['x']}", Kind.TEXT, '{"a":1,"b":["x"]}'),
        ("map {'a': 1}", Kind.TEXT, '{"a":1}'),
        ("union_value(k := 1)", Kind.TEXT, '{"k":1}'),
        ("'MAP'::ENUM('MAP', '[]')", Kind.TEXT, "MAP"),
        ("'a'::ENUM('a', 'STRUCT')", Kind.TEXT, "a"),
        ("'00000000-0000-0000-0000-000000000007'::UUID", Kind.TEXT,
         "00000000-0000-0000-0000-000000000007"),
        ("'\\x00A'::BLOB", Kind.TEXT, "\\x00A"),
        ("'101'::BIT", Kind.TEXT, "101"),
        ("interval 3 day", Kind.TEXT, "3 days"),
        ("7::BIGINT", Kind.TEXT, "7"),
        ("chr(0)", Kind.TEXT, "<nul_character>"),
        ("''", Kind.TEXT, None),
        ("NULL", Kind.TEXT, None),
    ],
)  # fmt: skip
def test_native_value(
    connection: duckdb.DuckDBPyConnection, expression: str, kind: Kind, expected: object
) -> None:
    assert delivered(connection, expression, kind) == expected


EXPRESSIONS = [
    "1::BIGINT",
    "-1::HUGEINT",
    "1.5::DOUBLE",
    "'nan'::DOUBLE",
    "'inf'::FLOAT",
    "1.50::DECIMAL(38, 10)",
    "date '2026-01-02'",
    "date '294000-01-01'",
    "'-infinity'::DATE",
    "timestamp '0001-01-01'",
    "'infinity'::TIMESTAMP",
    "timestamptz '2026-01-02 00:00+09'",
    "time '10:00'",
    "interval '1' month",
    "true",
    "NULL",
    "[]",
    "[NULL]",
    "[1.5, 'nan'::DOUBLE]",
    "[[1]]",
    "[chr(0)]",
    "{'a': NULL}",
    "map {1: [2]}",
    "union_value(k := 'x')",
    "'a'::ENUM('a', 'b[]')",
    "uuid()",
    "'\\xFF'::BLOB",
    "'0101'::BIT",
    "'{\"a\": [1, null]}'::JSON",
    "'null'::JSON",
    "array_value(1, 2)",
    "chr(0)",
]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_type_for_every_kind_is_cast_or_quarantined(
    connection: duckdb.DuckDBPyConnection, kind: Kind
) -> None:
    for expression in EXPRESSIONS:
        delivered(connection, expression, kind)  # asserts one row came out
