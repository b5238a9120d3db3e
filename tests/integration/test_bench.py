"""`lifehelper bench`: every benchmark at its quick size; lists, history, exit codes."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    QualityFailed,
    Scale,
    measured,
    require,
)
from lifehelper_data.cli import bench
from lifehelper_data.cli.main import main
from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.stores.layout import Layout


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Run `lifehelper bench` in this process; return its exit code and what it printed."""
    with pytest.raises(SystemExit) as done:
        main(["bench", *map(str, arguments)])
    assert isinstance(done.value.code, int)
    return done.value.code, capsys.readouterr().out


def one_benchmark(monkeypatch: pytest.MonkeyPatch, *, ours: float, right: bool = True) -> None:
    """Make "turtle" the only benchmark: `ours` seconds, at most half of the peer's 10."""

    def run(scale: Scale, progress: Progress) -> BenchResult:
        progress.step("walking", 1, 1)
        quality = require("arrived", str(right), "True", holds=right)
        bar = Bar(of="ratio", at_most=0.5)
        row = measured("walk", "s", ours, scale=scale, peer_name="hare", peer=10.0, bar=bar)
        return BenchResult(rows=(row,), quality=(quality,), machine={"cores": 2})

    turtle = Benchmark(name="turtle", question="How fast?", bar="<= 0.5x hare", run=run)
    monkeypatch.setattr(bench, "load_benchmarks", lambda _root: {"turtle": turtle})


def test_list_names_every_benchmark_with_its_bar(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = said(capsys, "--json")
    assert code == 0
    listed = {found["name"]: found["bar"] for found in json.loads(printed)["benchmarks"]}
    assert {"encoder", "increments", "keyword", "start"} <= listed.keys()
    assert "250x rank_bm25" in listed["keyword"]


def test_unknown_benchmark_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = said(capsys, "sloth", "--json")
    assert code == 2
    assert "no benchmark 'sloth'; known: encoder" in json.loads(printed)["error"]["message"]


def test_outside_a_checkout_benchmarks_are_unavailable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "CHECKOUT", tmp_path)
    code, printed = said(capsys, "keyword", "--json")
    assert code == 3
    assert "checkout" in json.loads(printed)["error"]["message"]


def test_bar_that_holds_is_good_and_every_run_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=5.0)
    history = tmp_path / "deep" / "history.jsonl"
    for _ in range(2):
        code, printed = said(capsys, "turtle", "--history", history, "--json")
        assert code == 0
    shown = json.loads(printed)
    kept = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    assert len(kept) == 2
    assert kept[1] | {"history": str(history)} == shown
    assert (shown["benchmark"], shown["scale"], shown["holds"]) == ("turtle", "full", True)
    assert shown["rows"] == [
        {
            "what": "walk", "ours": 5.0, "peer_name": "hare", "peer": 10.0, "ratio": 0.5,
            "bound": None, "unit": "s", "bar": "ratio <= 0.5", "holds": True,
        }
    ]  # fmt: skip
    assert shown["machine"] == {"cores": 2}


def test_several_names_run_in_turn_and_make_one_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=5.0)
    code, printed = said(capsys, "turtle", "turtle", "--history", tmp_path / "h", "--json")
    assert code == 0
    assert [found["benchmark"] for found in json.loads(printed)["benchmarks"]] == ["turtle"] * 2
    code, printed = said(capsys, "turtle", "sloth", "--history", tmp_path / "h", "--json")
    assert code == 2  # nothing is run before every name is known
    assert len((tmp_path / "h").read_text(encoding="utf-8").splitlines()) == 2


def test_missed_bar_is_printed_kept_and_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=6.0)
    code, printed = said(capsys, "turtle", "--history", tmp_path / "h.jsonl")
    assert code == 1
    assert "ratio <= 0.5" in printed
    assert json.loads((tmp_path / "h.jsonl").read_text(encoding="utf-8"))["holds"] is False


def test_quick_run_is_held_against_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=6.0)
    code, printed = said(capsys, "turtle", "--quick", "--history", tmp_path / "h", "--json")
    assert code == 0
    assert json.loads(printed)["holds"] is None


def test_wrong_answers_give_no_time_and_no_history(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=1.0, right=False)
    code, printed = said(capsys, "turtle", "--history", tmp_path / "h", "--json")
    assert code == 1
    assert json.loads(printed)["error"]["type"] == QualityFailed.__name__
    assert not (tmp_path / "h").exists()


def test_history_lies_in_the_workspace_or_else_in_the_cache(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one_benchmark(monkeypatch, ours=1.0)
    monkeypatch.delenv("LIFEHELPER_WORKSPACE", raising=False)
    monkeypatch.setenv("LIFEHELPER_CACHE", str(tmp_path / "cache"))
    Layout(tmp_path / "w").create()
    assert said(capsys, "turtle", "-w", tmp_path / "w")[0] == 0
    assert (tmp_path / "w" / "benchmarks.jsonl").is_file()
    assert not (tmp_path / "cache").exists()
    assert said(capsys, "turtle")[0] == 0
    assert (tmp_path / "cache" / "benchmarks.jsonl").is_file()
    assert said(capsys, "turtle", "-w", tmp_path / "nowhere")[0] == 2


def quick(name: str) -> dict[str, Any]:
    """Run a benchmark at its quick size; return its figures by what they are."""
    benchmark: Benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    result = benchmark.run(Scale.QUICK, NoProgress())
    assert result.quality
    assert all(row.ours > 0 and row.holds is None for row in result.rows)
    assert "load_average_before" in result.machine
    return {row.what: row for row in result.rows}


def test_keyword_is_measured_beside_both_peers() -> None:
    assert {row.peer_name for row in quick("keyword").values()} >= {"rank_bm25", "bm25s+numba"}


def test_keyword_without_its_peer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark: Benchmark = importlib.import_module("benchmarks.keyword").BENCHMARK
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match="'bm25s', which is not installed"):
        benchmark.run(Scale.QUICK, NoProgress())


def test_encoder_is_measured_for_documents_and_queries() -> None:
    rows = quick("encoder")
    assert {row.unit for row in rows.values()} == {"documents/s", "ms"}
    assert all(row.peer_name.startswith("torch fp32") for row in rows.values())


def test_increments_names_every_asset() -> None:
    rows = quick("increments")
    assert {"of which tables", "of which keyword_index", "of which embeddings"} <= rows.keys()
    assert any(what.startswith("of which loading the encoder") for what in rows)
    assert rows["build with 1% new titles"].peer_name == "full build"


def test_start_is_measured_cold_and_warm() -> None:
    rows = quick("start")
    assert [row.unit for row in rows.values()] == ["s", "s", "ms", "ms"]
    assert rows["lifehelper --help, cold process"].bound is not None
