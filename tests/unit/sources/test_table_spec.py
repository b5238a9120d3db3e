from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.mapping import SourceMapping, load_mapping
from lifehelper_data.sources.table_spec import parse_duration

POSTGRES = '[postgres]\nuri_env = "SHOP_URI"\n'
QUERY = '[tables.books]\nquery = "select 1"\n'
FIXTURE = Path(__file__).parents[3] / "fixtures" / "sources" / "fixture_shop_postgres.toml"


def loaded(folder: Path, text: str) -> SourceMapping:
    path = folder / "source.toml"
    path.write_text(text, encoding="utf-8")
    return load_mapping(path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 second", 1),
        ("90 seconds", 90),
        ("15 minutes", 15 * 60),
        ("2 hours", 2 * 3600),
        ("1 day", 86_400),
        ("3 weeks", 3 * 7 * 86_400),
    ],
)
def test_duration_in_words(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "1", "hour", "0 hours", "-1 hour", "1.5 hours", "1  hour", " 1 hour", "1 hour ", "1 Hour",
     "1 month", "1hour", "01 hour", "1000000 days",
     "1 hours ago", "1 hour\n", "١ hour", 3600, None],
)  # fmt: skip
def test_anything_else_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write a number and a unit"):
        parse_duration(text)


@given(
    number=st.integers(1, 999_999),
    unit=st.sampled_from(["second", "minute", "hour", "day", "week"]),
)
def test_plural_means_the_same(number: int, unit: str) -> None:
    assert parse_duration(f"{number} {unit}") == parse_duration(f"{number} {unit}s")


def test_a_query_with_everything(tmp_path: Path) -> None:
    spec = 'incremental = {column = "updated_at", lookback = "2 hours"}\n'
    mapping = loaded(tmp_path, POSTGRES + QUERY + spec)
    incremental = mapping.tables["books"].incremental
    assert incremental is not None
    assert (incremental.column, incremental.lookback) == ("updated_at", timedelta(hours=2))
    assert mapping.queries == {"books": "select 1"}
    assert mapping.postgres is not None
    assert mapping.postgres.uri_env == "SHOP_URI"
    dumped = mapping.model_dump(mode="json")
    assert dumped["tables"]["books"]["incremental"]["lookback"] == "7200 seconds"
    assert SourceMapping.model_json_schema()  # `lifehelper schema source` prints it


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (QUERY, None, r"tables.books.query needs a database; add \[postgres\] with uri_env"),
        ("[postgres]\n" + QUERY, "postgres.uri_env", "is required; add it"),
        (POSTGRES + 'uri = "x"\n' + QUERY, "postgres.uri", "unknown key; known: uri_env"),
        ('[postgres]\nuri_env = "postgresql://u:p@h/d"\n' + QUERY, "postgres.uri_env", "pattern"),
        ('[postgres]\nuri_env = ""\n' + QUERY, "postgres.uri_env", "pattern"),
        (POSTGRES + '[tables.books]\nquery = ""\n', "tables.books.query", "at least 1 character"),
        (
            POSTGRES + QUERY + 'sql = "select 1"\n',
            "tables.books",
            r"needs exactly one of sql \(over declared files\) and query \(over \[postgres\]\)",
        ),
        (
            POSTGRES + '[tables.books]\nsql = "select 1"\n'
            'incremental = {column = "a", lookback = "1 day"}\n',
            "tables.books",
            "incremental goes with query; files are always read in full",
        ),
        (
            POSTGRES + QUERY + 'incremental = {column = "a"}\n',
            "tables.books.incremental.lookback",
            "is required; add it",
        ),
        (
            POSTGRES + QUERY + 'incremental = {column = "a", lookback = "soon"}\n',
            "tables.books.incremental.lookback",
            "'soon' is not a duration; write a number and a unit, such as '15 minutes'",
        ),
        (
            POSTGRES + QUERY + 'incremental = {column = "a", lookback = "1 day", every = "x"}\n',
            "tables.books.incremental.every",
            "unknown key; known: column, lookback",
        ),
        (
            POSTGRES + QUERY + 'incremental = {column = "", lookback = "1 day"}\n',
            "tables.books.incremental.column",
            "at least 1 character",
        ),
        (POSTGRES + QUERY + 'incremental = "daily"\n', "tables.books.incremental", "valid dict"),
    ],
)
def test_mistake_names_the_field_and_a_remedy(
    tmp_path: Path, text: str, field: str | None, message: str
) -> None:
    with pytest.raises(MappingError, match=message) as refused:
        loaded(tmp_path, text)
    assert (refused.value.field, refused.value.exit_code) == (field, 2)


def test_files_and_queries_may_be_mixed(tmp_path: Path) -> None:
    mapping = loaded(
        tmp_path,
        POSTGRES + QUERY + '[files.raw]\npath = "a.csv"\n[tables.user_library]\nsql = "select 1"\n',
    )
    assert list(mapping.queries) == ["books"]


def test_example_mapping_shows_every_key_a_database_adds() -> None:
    mapping = load_mapping(FIXTURE)
    assert mapping.postgres is not None
    assert any(spec.sql for spec in mapping.tables.values())
    text = FIXTURE.read_text(encoding="utf-8")
    models = (type(mapping.postgres), type(mapping.tables["books"]))
    for model in (*models, type(mapping.tables["books"].incremental)):
        assert model is not type(None)
        for key in model.model_fields:  # type: ignore[union-attr]
            assert f"{key} = " in text, key
