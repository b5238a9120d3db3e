"""An opened source: errors of SELECTs, and rows as they come out."""

from pathlib import Path

import pytest

from lifehelper_data.domain.errors import (
    LifehelperError,
    MappingError,
    NotFound,
    SourceError,
    UnsafeSql,
)
from lifehelper_data.sources import load
from lifehelper_data.sources.load import SourceReader
from tests.unit.sources.cast_kit import OFFSETS_ONLY

HEADER = '[files.raw]\npath = "a.csv"\n'


def source(folder: Path, books: str = "select * from raw", **tables: str) -> Path:
    """A mapping over a.csv."""
    text = HEADER + f"[tables.books]\nsql = '''{books}'''\n"
    text += "".join(f"[tables.{name}]\nsql = '''{sql}'''\n" for name, sql in tables.items())
    path = folder / "source.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("book_id,title,x\n1,책,y\n2,b,z\n", encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    return tmp_path


def opened(folder: Path, books: str = "select * from raw", **tables: str) -> SourceReader:
    return SourceReader(source(folder, books, **tables), folder / "scratch").open()


def refused(folder: Path, books: str = "select * from raw", **tables: str) -> LifehelperError:
    with (
        SourceReader(source(folder, books, **tables), folder / "scratch") as reader,
        pytest.raises(LifehelperError) as problem,
    ):
        reader.open()
    return problem.value


@pytest.mark.parametrize("batch_rows", [1, 50_000])
def test_rows_come_out_cast_and_unknown_columns_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(load, "BATCH_ROWS", batch_rows)
    with opened(folder, "select BOOK_ID, Title, x as extra, x as other from raw") as reader:
        (select,) = reader.tables
        rows = [row for batch in reader.rows(select, OFFSETS_ONLY) for row in batch.good.rows()]
        assert [row[:2] for row in rows] == [(1, "책"), (2, "b")]
        assert select.ignored_columns == ("extra", "other")
        assert reader.returned(select) == 2


def test_tables_are_in_contract_order(folder: Path) -> None:
    with opened(
        folder,
        category_map="select 'a' as category, 'b' as class, 'core' as strength",
        user_library="select 1 as user_id, 2 as book_id, '2026-01-01' as added_at",
    ) as reader:
        names = [select.table.name for select in reader.tables]
    assert names == ["books", "user_library", "category_map"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select title from raw", "does not return 'book_id'; the contract requires it"),
        ("select x from raw", "does not return 'book_id', 'title'; the contract requires it"),
        (
            "select book_id, title, x as TITLE from raw",
            "returns 'title' twice; name each column once",
        ),
        ("select book_id, title, author from raw", 'Binder Error: .*"author" not found'),
        ("select book_id, title + 1 as title, y(x) from raw", "calls y"),
        ("select book_id, title, ? as price from raw", "tables.books.sql"),
        ("select book_id, title, $p as price from raw", "tables.books.sql"),
        ("select book_id, sum(x) as title from raw", "tables.books.sql: Binder Error"),
    ],
)
def test_select_that_does_not_fit_names_its_table(folder: Path, sql: str, message: str) -> None:
    problem = refused(folder, sql)
    assert isinstance(problem, MappingError)
    assert (problem.field, problem.exit_code) == ("books", 2)
    with pytest.raises(MappingError, match=message):
        raise problem
    assert str(problem).startswith("tables.books.sql")


def test_problems_of_all_tables_are_reported_at_once(folder: Path) -> None:
    problem = refused(
        folder,
        "select title from raw",
        user_library="select * from elsewhere",
        category_map="select now() as category",
    )
    assert type(problem) is MappingError
    message = str(problem)
    assert "tables.books.sql does not return 'book_id'" in message
    assert "tables.user_library.sql reads 'elsewhere'" in message
    assert "tables.category_map.sql calls now()" in message


def test_only_problem_keeps_its_kind(folder: Path) -> None:
    assert type(refused(folder, category_map="select * from glob('*')")) is UnsafeSql


@pytest.mark.parametrize("first_bad", [1, 150_000])
def test_select_that_fails_while_it_runs_names_its_table(folder: Path, first_bad: int) -> None:
    lines = (f"{n},{'x' if n >= first_bad else '1'}\n" for n in range(1, 150_010))
    (folder / "a.csv").write_text("book_id,title\n" + "".join(lines), encoding="utf-8")
    sql = "select book_id, cast(title as integer) as title from raw"
    with opened(folder, sql) as reader:
        (select,) = reader.tables
        with pytest.raises(
            MappingError, match=r"^tables\.books\.sql: Conversion Error: .*; use try_cast$"
        ) as problem:
            list(reader.rows(select, OFFSETS_ONLY))
        assert (problem.value.field, problem.value.exit_code) == ("books", 2)


@pytest.mark.parametrize(
    "sql",
    [
        "select book_id, title, (select x from raw) as author from raw",
        "select book_id, title, to_timestamp(1e300) as updated_at from raw",
        "select book_id, title, 2147483647::integer + book_id::integer as price from raw",
        "select book_id, error('no') as title from raw",
    ],
)
def test_other_failures_of_a_select_name_its_table_too(folder: Path, sql: str) -> None:
    with pytest.raises(MappingError, match=r"^tables\.books\.sql"), opened(folder, sql) as reader:
        (select,) = reader.tables
        list(reader.rows(select, OFFSETS_ONLY))


def test_comment_after_the_semicolon_does_no_harm(folder: Path) -> None:
    with opened(folder, "select * from raw; -- all of it") as reader:
        (select,) = reader.tables
        assert reader.returned(select) == 2
        assert sum(batch.good.height for batch in reader.rows(select, OFFSETS_ONLY)) == 2


def test_order_of_the_select_is_kept(folder: Path) -> None:
    with opened(folder, "select * from raw order by book_id desc") as reader:
        (select,) = reader.tables
        (batch,) = reader.rows(select, OFFSETS_ONLY)
        assert batch.good["book_id"].to_list() == [2, 1]


def test_absent_file_is_named(folder: Path) -> None:
    (folder / "a.csv").unlink()
    problem = refused(folder)
    assert isinstance(problem, NotFound)
    assert "a.csv" in str(problem)


def test_empty_file_is_named(folder: Path) -> None:
    (folder / "a.csv").write_bytes(b"")
    problem = refused(folder)
    assert isinstance(problem, SourceError)
    assert (problem.field, "remove it or declare columns" in str(problem)) == ("a.csv", True)


def test_files_of_a_glob_are_one_table_whatever_their_columns(folder: Path) -> None:
    (folder / "p1.csv").write_text("book_id,title\n1,a\n", encoding="utf-8")
    (folder / "p2.csv").write_text("Title,BOOK_ID,author\nb,2,c\nbroken\n", encoding="utf-8")
    (folder / "p3.csv").write_text("title\n", encoding="utf-8")
    path = source(folder)
    path.write_text(
        path.read_text(encoding="utf-8").replace('"a.csv"', '"p*.csv"'), encoding="utf-8"
    )
    with SourceReader(path, folder / "scratch").open() as reader:
        (select,) = reader.tables
        (batch,) = reader.rows(select, OFFSETS_ONLY)
        assert batch.good.select("book_id", "title", "author").rows() == [
            (1, "a", None), (2, "b", "c"),
        ]  # fmt: skip
        assert reader.file_columns == {"raw": ("book_id", "title", "author")}
        assert [(f.path, f.lines, f.rows, f.reasons) for f in reader.files] == [
            ("p1.csv", 1, 1, {}),
            ("p2.csv", 2, 1, {"column_count": 1}),
            ("p3.csv", 0, 0, {}),
        ]
        rejects = [row for frame in reader.rejects() for row in frame.rows()]
        assert rejects == [("raw", "p2.csv", 3, "column_count", "expected 3, found 1", "broken")]
