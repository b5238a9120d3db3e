"""`lifehelper eval`: documents, tables, exit codes, and a process that is killed."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.cli.main import main
from lifehelper_data.stores.eval_records import RunStatus
from tests.integration.eval_kit import Adder, run, sums, workspace_runs
from tests.integration.release_kit import python
from tests.integration.search_kit import Book, SearchShop, WordEncoder, encoding_with

WORDS = ("바다", "겨울", "정원", "기차", "서점", "섬", "꽃", "별")
BOOKS = [
    Book(book_id=i, title=f"{word} 이야기", author="윤새벽", description=word)
    for i, word in enumerate(WORDS, 1)
]
SYSTEMS = {"fused", "do_nothing", "random", "popularity"}
SMALL = "[evaluation]\nresamples = 200\n"

KILLED = """
import sys
from pathlib import Path
from lifehelper_data.evaluation import runs
from tests.integration.eval_kit import Adder, run, sums, workspace_runs

runs.code_hash = runs.code_version = lambda: "the same in both processes"

class Stuck(Adder):
    def __call__(self, case):
        if len(self.asked) == 10:
            print("stuck", flush=True)
            sys.stdin.read()
        return super().__call__(case)

run(workspace_runs(Path(sys.argv[1])), sums(Stuck()))
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A searchable workspace with one run of the search suite, labelled first."""
    with encoding_with(WordEncoder()):
        shop = SearchShop(tmp_path_factory.mktemp("eval-cli")).write(BOOKS)
        shop.build()
        (shop.workspace / "lifehelper.toml").write_text(SMALL, encoding="utf-8")
        with pytest.raises(SystemExit) as done:
            main(["eval", "run", "search", "-w", str(shop.workspace), "--label", "first"])
        assert done.value.code == 0
        yield shop.workspace


def said(
    capsys: pytest.CaptureFixture[str], shop: Path, *arguments: object, code: int = 0
) -> tuple[str, str]:
    """Run `lifehelper eval` in this process; returns what it printed."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as done:
        main(["eval", *map(str, arguments), "--workspace", str(shop)])
    captured = capsys.readouterr()
    assert done.value.code == code, captured
    return captured.out, captured.err


def document(
    capsys: pytest.CaptureFixture[str], shop: Path, *arguments: object, code: int = 0
) -> Any:
    return json.loads(said(capsys, shop, *arguments, "--json", code=code)[0])


def test_a_run_prints_one_document_with_pins_counts_and_references(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (made,) = document(capsys, shop, "run", "search", "--label", "second")["runs"]
    assert (made["status"], made["label"]) == ("complete", "second")
    assert made["cases"] >= 3 * len(WORDS)
    assert made["pins"]["release"]["number"] == 1
    assert made["scoring"]["resamples"] == 200
    for row in made["metrics"]:
        assert row["evaluated"] + row["undefined"] + row["missing"] == row["total"]
    assert {row["system"] for row in made["metrics"]} >= SYSTEMS


def test_the_table_has_kind_of_data_yardsticks_and_denominators(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = said(capsys, shop, "show", "first")
    assert "search (generated data)" in out
    assert "do_nothing" in out
    cases = document(capsys, shop, "list")["runs"][0]["cases"]
    assert f"{cases}+0u+0m={cases}" in out
    assert "always_refuse: not applicable" in out
    assert "query_type = exact title" in out
    assert "zero_result_rate ↓" in out


def test_failures_and_cases_can_be_opened(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = document(capsys, shop, "show", "first", "--failures", "3", "--system", "do_nothing")
    assert [f["value"] for f in shown["failures"]] == [0.0, 0.0, 0.0]
    case_id = shown["failures"][0]["case_id"]
    seen = document(capsys, shop, "show", "first", "--case", case_id)
    assert seen["input"] == shown["failures"][0]["input"]
    assert {o["system"] for o in seen["outputs"]} >= SYSTEMS
    assert case_id in said(capsys, shop, "show", "first", "--case", case_id)[0]
    assert "worst cases" in said(capsys, shop, "show", "first", "--system", "random")[0]


def test_list_names_every_run(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = document(capsys, shop, "list")["runs"]
    assert listed[0]["label"] == "first"
    assert listed[0]["run_id"] in said(capsys, shop, "list")[0]


def test_compare_with_itself_says_no_difference(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, shop, "compare", "first", "first")
    assert {metric["verdict"] for metric in found["metrics"]} == {"no difference"}
    assert {part["verdict"] for part in found["slices"] if part["evaluated"] > 1} == {
        "no difference"
    }
    assert {part["effect"] for part in found["slices"]} <= {0.0, None}
    first = found["metrics"][0]
    assert first["evaluated"] + first["undefined"] + first["missing"] == first["total"] >= 24
    out, _ = said(capsys, shop, "compare", "first", "first")
    assert "no difference" in out
    assert "better" not in out


def test_compare_exits_0_whatever_the_verdict(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(
        capsys,
        shop,
        "compare",
        "first",
        "first",
        "--system",
        "do_nothing",
        "--base-system",
        "fused",
    )
    assert found["metrics"][0]["verdict"] == "worse"


def test_rescore_says_that_nothing_changed(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = document(capsys, shop, "rescore", "first")
    assert (again["identical"], again["changes"], again["before"]) == (True, [], 1)
    assert "the same numbers" in said(capsys, shop, "rescore", "first")[0]


def test_sql_queries_all_runs(
    shop: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    query = "SELECT count(*) FILTER (label = 'first') AS n FROM eval_runs"
    assert document(capsys, shop, "sql", query)["rows"] == [[1]]
    target = tmp_path / "scores.csv"
    said(capsys, shop, "sql", "FROM eval_metrics", "--out", target)
    assert target.read_text(encoding="utf-8").startswith("run_id,system,")


def test_bad_cases_are_named_by_line(
    shop: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"case_id": "a", "query": "책"}\n', encoding="utf-8")
    out, err = said(capsys, shop, "run", "search", "--cases", file, code=2)
    assert out == ""
    assert "line 1: 'relevant' is missing" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "serach"), "no suite 'serach'; known: search"),
        (("run",), "or a run to --resume, one of the two"),
        (("run", "search", "--resume", "first"), "one of the two"),
        (("run", "search", "--release", "99"), "release 99 does not exist"),
        (("run", "search", "--cases", "absent.jsonl"), "no file of cases 'absent.jsonl'"),
        (("run", "search", "--config", "absent.toml"), "no configuration file"),
        (("show", "absent"), "no eval run 'absent'"),
        (("show", "first", "--case", "absent"), "no case 'absent'"),
        (("show", "first", "--system", "absent"), "no system 'absent'"),
        (("compare", "first", "absent"), "no eval run 'absent'"),
        (("rescore", "absent"), "no eval run 'absent'"),
        (("sql", "DROP TABLE eval_runs"), "expected one SELECT, got DROP"),
    ],
)
def test_bad_input_exits_2_with_one_line(
    shop: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    error = document(capsys, shop, *arguments, code=2)["error"]
    assert says in error["message"]


def test_a_complete_run_that_is_resumed_stays_as_it_is(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = document(capsys, shop, "show", "first")
    (again,) = document(capsys, shop, "run", "--resume", "first")["runs"]
    assert again["resumed_outputs"] == again["cases"] * len(again["pins"]["systems"])
    assert again["metrics"] == before["metrics"]
    assert again["run_id"] == before["run_id"]


def test_the_format_of_cases_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["schema", "search-cases"])
    schema = json.loads(capsys.readouterr().out)
    assert schema["required"] == ["case_id", "query", "relevant"]


def test_a_killed_process_leaves_whole_chunks_and_a_run_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("code_hash", "code_version"):  # an edit of the package meanwhile is another test
        monkeypatch.setattr(
            f"lifehelper_data.evaluation.runs.{name}", lambda: "the same in both processes"
        )
    process = python(KILLED, str(tmp_path / "w"))
    assert process.stdout is not None
    assert process.stdout.readline() == "stuck\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()
    runs = workspace_runs(tmp_path / "w")
    (record,) = runs.records()
    assert record.status is RunStatus.RUNNING
    adder = Adder()
    done = run(runs, sums(adder))
    assert done.record.run_id == record.run_id
    # references are whole; of 10 answers the last chunk of 4 was not full
    assert done.resumed == 3 * 40 + 8
    assert len(adder.asked) == 40 - 8
    assert len(runs.outputs(record.run_id)) == 4 * 40
