"""Every type of the server as text."""

from pathlib import Path

import pyarrow as pa
import pytest

from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.delivered import Delivered
from lifehelper_data.sources.postgres import open_session
from tests.integration.load_kit import Loader, mapping_of
from tests.integration.postgres_kit import (
    VARIABLE,
    Database,
    PostgresLoader,
    table_identities,
    values,
)

TYPES = [
    "CREATE TYPE mood AS ENUM ('glad', 'it''s')",
    "CREATE TYPE pair AS (x int, y text)",
    "CREATE DOMAIN won AS numeric(10, 2)",
    "CREATE DOMAIN tags AS text[]",
]
AS_TEXT: dict[str, str | None] = {  # expression -> text
    "1::smallint": "1",
    "2147483647::integer": "2147483647",
    "(-9223372036854775808)::bigint": "-9223372036854775808",
    "15000.50::numeric": "15000.50",
    "15000.50::won": "15000.50",
    "'NaN'::numeric": "NaN",
    "0.1::real": "0.1",
    "0.1::double precision": "0.1",
    "1e20::double precision": "1e+20",
    "(1.0::double precision / 3)": "0.3333333333333333",
    "true": "true",
    "'한글 😀'::text": "한글 😀",
    "'ab'::varchar(5)": "ab",
    "'ab'::char(5)": "ab",
    "''::text": None,
    "'   '::char(3)": None,
    "' '::text": " ",  # the contract decides what blank means
    "null::int": None,
    "null::jsonb": None,
    "null": None,
    "'glad'::mood": "glad",
    "date '2026-01-02'": "2026-01-02",
    "timestamp '2026-01-02 03:04:05.678901'": "2026-01-02 03:04:05.678901",
    "timestamptz '2026-01-02 03:04:05+09'": "2026-01-01 18:04:05+00",
    "timestamptz 'infinity'": "infinity",
    "time '01:02:03'": "01:02:03",
    "interval '90 minutes'": "PT1H30M",
    "uuid '00000000-0000-0000-0000-000000000001'": "00000000-0000-0000-0000-000000000001",
    "inet '10.0.0.1/8'": "10.0.0.1/8",
    "int4range(1, 3)": "[1,3)",
    "point '(1,2)'": "(1,2)",
    "5::oid": "5",
    "array[1, 2, null]::int[]": "[1,2,null]",
    "array['a\"b', '한']": '["a\\"b","한"]',
    "array['glad', 'it''s']::mood[]": '["glad","it\'s"]',
    "array['a']::tags": '["a"]',
    "array[0.1, 2]::real[]": "[0.1,2]",
    "array[0.1, 2]::double precision[]": "[0.1,2]",
    "array[]::text[]": "[]",
    "array[[1, 2], [3, 4]]": "[[1,2],[3,4]]",
    "array['{\"a\": 1}']::jsonb[]": '[{"a": 1}]',
    "'[1,  2]'::json": "[1,  2]",
    "'[1,  2]'::jsonb": "[1, 2]",
    "'null'::jsonb": "null",
    "row(1, 'z')::pair": '{"x":1,"y":"z"}',
    "array[row(1, null)::pair]": '[{"x":1,"y":null}]',
    "row(1, 'z')": '{"f1":1,"f2":"z"}',
}


def test_every_type_arrives_as_text_whatever_the_server_prefers() -> None:
    database = Database.create()
    database.run(
        *TYPES,
        f"ALTER DATABASE {database.name} SET TimeZone = 'America/New_York'",
        f"ALTER DATABASE {database.name} SET DateStyle = 'German, DMY'",
        f"ALTER DATABASE {database.name} SET IntervalStyle = 'sql_standard'",
        f"ALTER DATABASE {database.name} SET extra_float_digits = -5",
    )
    query = "select " + ", ".join(
        f'{expression} as "c{n:02}"' for n, expression in enumerate(AS_TEXT)
    )
    with open_session(VARIABLE, {VARIABLE: database.uri}) as session:
        wanted = session.probe("books", query)
        delivered = Delivered(query=query, wanted=wanted, ignored=())
        (batch,) = session.batches("books", delivered.select())
    assert {field.type for field in batch.schema} == {pa.string()}
    (row,) = batch.to_pylist()
    assert dict(zip(AS_TEXT, row.values(), strict=True)) == AS_TEXT


@pytest.mark.parametrize("title", ["'a'::bytea", "array['a'::bytea]"])
def test_bytes_are_refused_by_name(tmp_path: Path, title: str) -> None:
    shop = PostgresLoader.create(tmp_path)
    shop.mapping({"books": f"select 1 as book_id, {title} as title"})
    with pytest.raises(
        MappingError, match=r"tables\.books\.query returns 'title' as _?bytea: bytes are not text"
    ):
        shop.build()


USERS = [
    '{"user_id": 1, "categories": ["소설"], "tags": ["a", "b"], "liked_book_ids": [7, 8]}',
    '{"user_id": 2, "categories": [], "tags": null, "liked_book_ids": []}',
]
MEMORIES = [
    '{"user_id": 1, "type": "mood", "value": "v", "confidence": 0.7, "vector": [0.1, -2.5e-08, 3],'
    ' "dim": 3, "created_at": "2026-01-02T03:04:05Z"}',
    '{"user_id": 2, "type": "mood", "value": "w", "confidence": null, "vector": null,'
    ' "dim": null, "created_at": "2026-01-02T03:04:05.000001Z"}',
]


@pytest.mark.parametrize("lists", ["arrays", "json", "jsonb", "text"])
def test_lists_are_the_same_from_any_type(tmp_path: Path, lists: str) -> None:
    loader = Loader(tmp_path)
    loader.file("b.csv", "book_id,title\n1,a\n")
    loader.file("u.jsonl", "\n".join(USERS))
    loader.file("m.jsonl", "\n".join(MEMORIES))
    loader.mapping(
        mapping_of(
            {"b": "b.csv", "u": "u.jsonl", "m": "m.jsonl"},
            {
                "books": "select * from b",
                "onboarding": "select * from u",
                "memories": "select * from m",
            },
        )
    )
    expected = table_identities(loader.load())
    (tmp_path / "database").mkdir()
    shop = PostgresLoader.create(tmp_path / "database")
    users, memories = (
        f"(select t::jsonb as r from (values {values([(line,) for line in lines])}) as v(t)) as w"
        for lines in (USERS, MEMORIES)
    )

    def listed(name: str, item: str) -> str:
        if lists != "arrays":
            return f"(nullif(r->'{name}', 'null'))::{lists}"
        items = f"array(select jsonb_array_elements_text(r->'{name}'))::{item}[]"
        return f"case when r->'{name}' <> 'null' then {items} end"

    shop.mapping(
        {
            "books": "select 1 as book_id, 'a' as title",
            "onboarding": "select (r->>'user_id')::int as user_id, "
            f"{listed('tags', 'text')} as tags, {listed('categories', 'varchar')} as categories, "
            f"{listed('liked_book_ids', 'bigint')} as liked_book_ids from {users}",
            "memories": "select (r->>'user_id')::int as user_id, r->>'type' as type, "
            "r->>'value' as value, (r->>'confidence')::real as confidence, "
            f"{listed('vector', 'real')} as vector, (r->>'dim')::int as dim, "
            f"(r->>'created_at')::timestamptz as created_at from {memories}",
        }
    )
    assert table_identities(shop.build().record) == expected


def test_local_times_are_read_in_the_declared_zone_and_refused_without_one(tmp_path: Path) -> None:
    shop = PostgresLoader.create(tmp_path)
    books = {
        "books": "select 1 as book_id, 'a' as title, timestamp '2026-01-02 09:00' as updated_at "
        "union all select n, 'b', null from generate_series(2, 40) n"
    }
    shop.mapping(books, head='naive_timezone = "Asia/Seoul"')
    record = shop.build().record
    assert record.facts["source_watermarks"]["books"] == "2026-01-02T00:00:00+00:00"  # type: ignore[index]
    shop.mapping(books)
    (bad,) = shop.rows(shop.build().record, "quarantine")
    assert (bad["value"], bad["reason"]) == ("2026-01-02 09:00:00", "bad_value:naive_timestamp")
