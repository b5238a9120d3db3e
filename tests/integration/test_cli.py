"""The command line: documents, errors, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from lifehelper_data.cli.main import main
from tests.integration.build_kit import ROOT, TinyShop, run


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TinyShop]:
    """A workspace with two releases of a tiny shop; reading tests share it."""
    folder = tmp_path_factory.mktemp("cli")
    shop = TinyShop.create(folder / "shop")
    run("init", folder / "w", "--source", shop.mapping)
    run("build", "-w", folder / "w")
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,300,소설")
    run("build", "-w", folder / "w")
    return folder / "w", shop


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line in this process."""
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert isinstance(done.value.code, int)
    return done.value.code, captured.out, captured.err


def test_help_starts_without_heavy_packages() -> None:
    code = (
        "import sys\nfrom lifehelper_data.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'duckdb', 'polars', 'pyarrow', 'torch', 'dagster', 'lancedb', 'pydantic'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("HEAVY []")


def test_init_makes_a_workspace_once_and_leaves_an_existing_one(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    assert run("init", tmp_path / "w", "--source", shop.mapping)["created"] is True
    config = tmp_path / "w" / "lifehelper.toml"
    config.write_text(config.read_text(encoding="utf-8") + "\n# mine\n", encoding="utf-8")
    assert run("init", tmp_path / "w")["created"] is False
    assert config.read_text(encoding="utf-8").endswith("# mine\n")


def test_build_prints_one_document_with_every_count(shop: tuple[Path, TinyShop]) -> None:
    document = run("build", "-w", shop[0])
    assert document["published"] is False
    assert document["release"] == 2
    assert [asset["reused"] for asset in document["assets"]] == [True, True]
    assert {t["table"]: t["kept"] for t in document["tables"]} == {
        "books": 50, "user_purchases": 120, "user_reviews": 40,
    }  # fmt: skip


def test_release_commands_answer_in_json(shop: tuple[Path, TinyShop]) -> None:
    listed = run("release", "list", "-w", shop[0])
    assert (listed["current"], [r["number"] for r in listed["releases"]]) == (2, [1, 2])
    shown = run("release", "show", "1", "-w", shop[0])
    assert shown["tables"]["books"]["rows"] == 50
    assert shown["facts"]["popularity_method"] == "log_sales"
    changed = run("release", "diff", "1", "2", "-w", shop[0])
    books = next(table for table in changed["tables"] if table["table"] == "books")
    assert (books["status"], books["changed"]) == ("changed", 1)
    assert {(v["column"], v["before"], v["after"]) for v in books["sample"]} == {
        ("price", "9700", "300"), ("price_suspect", "false", "true"),
    }  # fmt: skip
    assert run("release", "verify", "-w", shop[0])["ok"] is True
    assert run("release", "gc", "--dry-run", "-w", shop[0])["deleted_releases"] == []


def test_release_tag_rollback_promote(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    run("init", tmp_path / "w", "--source", shop.mapping)
    run("build", "-w", tmp_path / "w")
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,300,소설")
    run("build", "-w", tmp_path / "w")
    assert run("release", "tag", "1", "before-sale", "-w", tmp_path / "w")["release"] == 1
    assert run("release", "show", "before-sale", "-w", tmp_path / "w")["number"] == 1
    assert run("release", "rollback", "-w", tmp_path / "w")["release"] == 1
    assert run("release", "list", "-w", tmp_path / "w")["current"] == 1
    assert run("release", "promote", "2", "-w", tmp_path / "w")["in_service"] is True
    assert run("release", "rollback", "--to", "before-sale", "-w", tmp_path / "w")["release"] == 1
    assert run("release", "tag", "before-sale", "--delete", "-w", tmp_path / "w")["deleted"] is True
    gone = run("release", "show", "before-sale", "-w", tmp_path / "w", expect=2)
    assert gone["error"]["type"] == "NotFound"


def test_a_moved_workspace_is_relocated(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    run("init", tmp_path / "w", "--source", shop.mapping)
    identity = run("build", "-w", tmp_path / "w")["identity"]
    (tmp_path / "w").rename(tmp_path / "옮긴 곳")
    moved = tmp_path / "옮긴 곳"
    refused = run("sql", "from books", "-w", moved, expect=3)
    assert "release relocate" in refused["error"]["message"]
    assert run("release", "relocate", "-w", moved)["relocated"] == [1]
    assert run("sql", "select count(*) as n from books", "-w", moved)["rows"] == [[50]]
    assert run("release", "show", "-w", moved)["identity"] == identity
    with duckdb.connect(str(moved / "current.duckdb"), read_only=True) as foreign:
        assert foreign.execute("SELECT count(*) FROM books").fetchall() == [(50,)]


def test_verify_of_a_damaged_part_exits_1_and_names_it(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    run("init", tmp_path / "w", "--source", shop.mapping)
    run("build", "-w", tmp_path / "w")
    part = next((tmp_path / "w" / "parts" / "books").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"X")
    report = run("release", "verify", "-w", tmp_path / "w", expect=1)
    assert report["ok"] is False
    assert [Path(p["path"]).name for p in report["problems"]] == [part.name]
    part.unlink()
    doctor = run("doctor", "-w", tmp_path / "w", expect=1)
    wrong = [f for f in doctor["findings"] if f["remedy"]]
    assert [f["what"] for f in wrong] == ["release"]
    assert "lifehelper build" in wrong[0]["remedy"]
    run("build", "-w", tmp_path / "w")
    assert run("release", "verify", "-w", tmp_path / "w")["ok"] is True


def test_sql_shows_writes_and_prints_rows(
    shop: tuple[Path, TinyShop], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "select book_id, title, price from books where book_id in (7, 8) order by book_id"
    assert run("sql", query, "-w", shop[0]) == {
        "release": 2,
        "columns": ["book_id", "title", "price"],
        "rows": [[7, "책 7", 300], [8, "책 8", 9800]],
    }
    assert run("sql", query, "-w", shop[0], "-r", "1")["rows"][0] == [7, "책 7", 9700]
    for name in ("out.parquet", "out.csv", "out.jsonl"):
        assert run("sql", query, "-w", shop[0], "--out", tmp_path / name)["rows"] == 2
    assert pl.read_parquet(tmp_path / "out.parquet")["price"].to_list() == [300, 9800]
    assert pl.read_csv(tmp_path / "out.csv")["title"].to_list() == ["책 7", "책 8"]
    assert pl.read_ndjson(tmp_path / "out.jsonl")["book_id"].to_list() == [7, 8]
    code, out, _ = said(capsys, "sql", "from books", "-w", shop[0])
    assert code == 0
    assert "책 50" in out


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("copy books to 'x.csv'", "expected one SELECT, got COPY"),
        ("select 1; select 2", "expected one SELECT, got SELECT, SELECT"),
        ("", "expected one SELECT, got nothing"),
        ("select * from nowhere", "nowhere does not exist"),
        ("from read_text('/etc/hostname')", "Permission Error"),
        ("attach 'x.duckdb'", "expected one SELECT, got ATTACH"),
        ("set threads = 1", "expected one SELECT, got SET"),
        ("drop view books", "expected one SELECT, got DROP"),
        ("selec", "syntax error"),
    ],
)
def test_sql_refuses_what_is_not_one_read(
    shop: tuple[Path, TinyShop], query: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "sql", query, "-w", shop[0])
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1  # one line


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "says"),
    [
        (("release", "show", "99"), 2, "NotFound", "release 99 does not exist; releases: 1, 2"),
        (("release", "show", "what?"), 2, "InvalidRequest", "'what?' is neither a number"),
        (("release", "promote", "99"), 2, "NotFound", "99"),
        (("sql", "from books", "--out", "x.xlsx"), 2, "InvalidRequest", ".parquet, .csv, .jsonl"),
        (("build", "--source", "nowhere.toml"), 2, "NotFound", "'nowhere.toml'"),
        (("build", "--config", "nowhere.toml"), 2, "NotFound", "'nowhere.toml'"),
        (("schema", "nothing"), 2, "NotFound", "'nothing'"),
        (("build", "--threads", "x"), 2, "InvalidUsage", "Invalid value for '--threads'"),
        (("nonsense",), 2, "InvalidUsage", "nonsense"),
    ],
)
def test_errors_name_the_value_and_exit_by_kind(
    shop: tuple[Path, TinyShop],
    arguments: tuple[str, ...],
    code: int,
    kind: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = arguments if arguments[0] in ("schema", "nonsense") else (*arguments, "-w", shop[0])
    status, out, _ = said(capsys, *given, "--json")
    error = json.loads(out)["error"]
    assert (status, error["type"]) == (code, kind)
    assert says in error["message"]


def test_a_workspace_that_is_not_there_is_named_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, "release", "list", "-w", tmp_path / "none")
    assert code == 2
    assert "lifehelper init" in err


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    run("init", tmp_path / "w", "--source", shop.mapping)
    refused = run(
        "build", "-w", tmp_path / "w", expect=2, LIFEHELPER__POPULARITY__WINDOW_DAYS="soon"
    )
    assert refused["error"]["field"] == "popularity.window_days"
    assert "'soon'" in refused["error"]["message"]


def test_too_much_dirt_exits_1_and_leaves_the_last_release(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    run("init", tmp_path / "w", "--source", shop.mapping)
    run("build", "-w", tmp_path / "w")
    text = (shop.folder / "books.csv").read_text(encoding="utf-8")
    for book in (3, 4, 5):
        text = text.replace(f"\n{book},책 {book},{9000 + 100 * book},", f"\n{book},책 {book},만원,")
    (shop.folder / "books.csv").write_text(text, encoding="utf-8")
    refused = run("build", "-w", tmp_path / "w", expect=1)["error"]
    assert refused["type"] == "LoadRefused"
    assert "3 of 50 rows have a bad value (price 3)" in refused["message"]
    assert run("release", "list", "-w", tmp_path / "w")["current"] == 1
    kept = pl.read_parquet(tmp_path / "w" / "refused" / "quarantine.parquet")
    assert kept["value"].to_list() == ["만원"] * 3
    assert (
        run("build", "-w", tmp_path / "w", LIFEHELPER__LOAD__MAX_BAD_SHARE="0.06")["release"] == 2
    )


def test_schemas_are_printed_for_documents_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "schema", "source")
    assert "naive_timezone" in json.loads(out)["properties"]
    _, out, _ = said(capsys, "schema", "config")
    assert "popularity" in json.loads(out)["properties"]
    _, out, _ = said(capsys, "schema", "books", "--json")
    assert json.loads(out)["columns"][0]["column"] == "book_id"
    _, out, _ = said(capsys, "schema", "--json")
    assert "user_reviews" in json.loads(out)["schemas"]


def test_readme_commands_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in readme
    assert "make test" in readme
