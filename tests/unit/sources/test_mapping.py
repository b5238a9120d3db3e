from pathlib import Path

import pytest

from lifehelper_data.domain.contract import TABLES
from lifehelper_data.domain.errors import LifehelperError, MappingError, NotFound
from lifehelper_data.sources.formats import READERS
from lifehelper_data.sources.load import source_digest
from lifehelper_data.sources.mapping import (
    ENCODINGS,
    FORMATS_BY_SUFFIX,
    FileSpec,
    load_mapping,
    matching_files,
)

BOOKS = '[tables.books]\nsql = "select * from raw"\n'
RAW = '[files.raw]\npath = "a.csv"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "source.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults(tmp_path: Path) -> None:
    mapping = load_mapping(written(tmp_path, RAW + BOOKS))
    assert (mapping.text, mapping.naive_timezone, mapping.text_ids) == (True, None, ())
    spec = mapping.files["raw"]
    assert (spec.resolved_format, spec.encoding, spec.resolved_delimiter, spec.quote) == (
        "csv", "utf-8", ",", '"',
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "file_format", "delimiter"),
    [("a.TSV", "tsv", "\t"), ("a.ndjson", "jsonl", ","), ("*.parquet", "parquet", ",")],
)
def test_format_by_ending(path: str, file_format: str, delimiter: str) -> None:
    spec = FileSpec(path=path)
    assert (spec.resolved_format, spec.resolved_delimiter) == (file_format, delimiter)


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("UTF8", "utf-8"), ("EUC_KR", "cp949"), ("ms949", "cp949"), ("UTF-16-LE", "utf-16-le")],
)
def test_encoding_names(declared: str, codec: str) -> None:
    assert FileSpec(path="a.csv", encoding=declared).encoding == codec


@pytest.mark.parametrize("codec", sorted(set(ENCODINGS.values())))
def test_every_encoding_can_be_read(codec: str) -> None:
    assert "a".encode(codec).decode(codec) == "a"


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("", "tables", "is required; add it"),
        (RAW, "tables", "is required; add it"),
        (RAW + "[tables]", None, r"table 'books' is required; add \[tables.books\]"),
        (
            RAW + '[tables.user_reviews]\nsql = "select 1"',
            None,
            r"table 'books' is required; add \[tables.books\]",
        ),
        (RAW + BOOKS + '[tables.book]\nsql = "x"', None, "unknown table 'book'; known: books, "),
        (RAW + '[tables.books]\nsql = ""', "tables.books.sql", "at least 1 character"),
        (RAW + "[tables.books]\nsql = 7", "tables.books.sql", "valid string"),
        (RAW + "[tables.books]\n", "tables.books", "needs exactly one of sql .* and query"),
        (RAW + BOOKS + 'query = "x"', "tables.books", "needs exactly one of sql .* and query"),
        (RAW + BOOKS + 'sqll = "x"', "tables.books.sqll", "unknown key; known: sql, query, incr"),
        (
            RAW + 'encodign = "x"\n' + BOOKS,
            "files.raw.encodign",
            "unknown key; known: path, format, encoding, ",
        ),
        ('nam = "x"\n' + RAW + BOOKS, "nam", "unknown key; known: description, naive_timezone, "),
        (
            RAW + 'encoding = "utf-9"\n' + BOOKS,
            "files.raw.encoding",
            "unknown encoding 'utf-9'; known: ascii, cp1252, ",
        ),
        (
            'naive_timezone = "Seoul"\n' + RAW + BOOKS,
            "naive_timezone",
            "unknown timezone 'Seoul'; use a name such as 'Asia/Seoul'",
        ),
        ('naive_timezone = "localtime"\n' + RAW + BOOKS, "naive_timezone", "unknown timezone"),
        ('naive_timezone = "Factory"\n' + RAW + BOOKS, "naive_timezone", "unknown timezone"),
        ('naive_timezone = "+09:00"\n' + RAW + BOOKS, "naive_timezone", "unknown timezone"),
        ('text_ids = ["item_id"]\n' + RAW + BOOKS, "text_ids.0", "'book_id' or 'user_id'"),
        ('text = "maybe"\n' + RAW + BOOKS, "text", "valid boolean"),
        ('[files.raw]\npath = ""\n' + BOOKS, "files.raw.path", "at least 1 character"),
        ("[files.raw]\n" + BOOKS, "files.raw.path", "is required; add it"),
        (
            '[files.raw]\npath = "a.txt"\n' + BOOKS,
            "files.raw",
            "cannot tell the format of 'a.txt'; set format to csv, tsv, jsonl or parquet",
        ),
        (RAW + 'format = "xlsx"\n' + BOOKS, "files.raw.format", "csv, jsonl, parquet, tsv"),
        (RAW + "header = false\n" + BOOKS, "files.raw", r"header = false needs columns = \["),
        (RAW + 'delimiter = ";;"\n' + BOOKS, "files.raw.delimiter", "at most 1 character"),
        (RAW + 'delimiter = "\\n"\n' + BOOKS, "files.raw", "cannot be a line break"),
        (RAW + 'quote = "\\r"\n' + BOOKS, "files.raw", "cannot be a line break"),
        (RAW + 'quote = ","\n' + BOOKS, "files.raw", "nor the delimiter a quote"),
        (
            RAW + 'quote = "\'"\ndelimiter = "\'"\n' + BOOKS,
            "files.raw",
            "nor the delimiter a quote",
        ),
        ('[files.Raw]\npath = "a.csv"\n' + BOOKS, None, "file name 'Raw' must be lower-case"),
        ('[files."r!"]\npath = "a.csv"\n' + BOOKS, None, "file name 'r!' must be lower-case"),
        ("[files", None, "not valid TOML: Expected"),
        ("a = 1\na = 2", None, "not valid TOML"),
    ],
)
def test_mistake_names_the_field_and_a_remedy(
    tmp_path: Path, text: str, field: str | None, message: str
) -> None:
    with pytest.raises(MappingError, match=message) as refused:
        load_mapping(written(tmp_path, text))
    assert str(refused.value).startswith("source.toml: " + (f"{field}: " if field else ""))
    assert (refused.value.field, refused.value.exit_code) == (field, 2)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("absent.toml", NotFound, "no mapping file at .*absent.toml.*give the path"),
        ("", NotFound, "no mapping file at"),
        ("source.toml/inner", NotFound, "no mapping file at"),
        ("x" * 300, MappingError, "check the path"),
    ],
)
def test_mapping_file_that_is_no_file(
    tmp_path: Path, name: str, error: type[LifehelperError], message: str
) -> None:
    written(tmp_path, RAW + BOOKS)
    with pytest.raises(error, match=message):
        load_mapping(tmp_path / name)


def test_mapping_file_must_be_utf_8_and_may_have_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "source.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (RAW + BOOKS).encode())
    assert load_mapping(path).tables["books"].sql == "select * from raw"
    path.write_bytes("# 가\n".encode("cp949"))
    with pytest.raises(MappingError, match="save it as UTF-8"):
        load_mapping(path)


def test_every_contract_table_can_be_mapped(tmp_path: Path) -> None:
    tables = "".join(f'[tables.{name}]\nsql = "select 1"\n' for name in TABLES)
    assert list(load_mapping(written(tmp_path, RAW + tables)).tables) == list(TABLES)


# Files


def test_glob_matches_in_order_of_path(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c/d.csv", "e.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = matching_files(FileSpec(path="**/*.csv"), tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in found] == ["a.csv", "b.csv", "c/d.csv"]


def test_file_with_glob_characters_in_its_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "[old] a.csv").touch()
    assert matching_files(FileSpec(path="[old] a.csv"), tmp_path) == [tmp_path / "[old] a.csv"]


def test_absolute_path_and_glob(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    for path in (tmp_path / "a.csv", tmp_path / "*.csv"):
        assert matching_files(FileSpec(path=str(path)), Path("/nowhere")) == [tmp_path / "a.csv"]


@pytest.mark.parametrize("path", ["absent.csv", "*.csv", "folder.csv", "a.csv/b.csv", "/x*.csv"])
def test_no_match_names_the_path(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(NotFound, match=r"no file matches .*check the path"):
        matching_files(FileSpec(path=path), tmp_path)


@pytest.mark.parametrize("path", ["**x/*.csv", "x" * 5_000 + ".csv", "**a.csv"])
def test_impossible_path_is_a_mistake_of_the_mapping(tmp_path: Path, path: str) -> None:
    with pytest.raises((MappingError, NotFound), match="path"):
        matching_files(FileSpec(path=path), tmp_path)


def test_path_with_nul_is_a_mistake_of_the_mapping(tmp_path: Path) -> None:
    for path in ("a\0.csv", "*\0.csv"):
        with pytest.raises((MappingError, NotFound), match="path"):
            matching_files(FileSpec(path=path), tmp_path)


# Digest


def test_digest_changes_with_content_and_mapping_but_not_with_paths(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    path = written(tmp_path, RAW + BOOKS)
    first = source_digest(path)
    assert source_digest(written(tmp_path, 'description = "x"\n' + RAW + BOOKS)) == first
    assert source_digest(written(tmp_path, RAW + 'null_values = ["NA"]\n' + BOOKS)) != first
    (tmp_path / "b.csv").write_text("a\n1\n", encoding="utf-8")
    assert source_digest(written(tmp_path, RAW.replace("a.csv", "b.csv") + BOOKS)) == first
    (tmp_path / "b.csv").write_text("a\n2\n", encoding="utf-8")
    assert source_digest(path) != first


def test_every_format_a_mapping_knows_has_a_reader() -> None:
    assert set(READERS) == set(FORMATS_BY_SUFFIX.values())
