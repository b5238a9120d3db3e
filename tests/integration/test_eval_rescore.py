"""Scoring stored outputs again: no model, no release, no network; the same numbers."""

import socket
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.scoring import MetricChange, rescore
from lifehelper_data.evaluation.suite import Generate, Output, Score, SuiteContext
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import load_scoring, scoring_numbers
from tests.integration.eval_kit import Adder, evaluation, run, score_sum, sums, workspace_runs


@pytest.fixture
def runs(tmp_path: Path) -> EvalRuns:
    return workspace_runs(tmp_path / "w")


def gone(_: SuiteContext) -> Generate:
    raise AssertionError("rescoring opened a system")


def lenient(case: Case, output: Output) -> Score:
    """Score a sum that is off by one as right."""
    score = score_sum(case, output)
    error = score.values["error"]
    if isinstance(error, float) and error == 1.0:
        return Score(values={**score.values, "correct": 1.0}, explanation=score.explanation)
    return score


def test_the_numbers_are_the_same_with_no_model_no_release_and_no_network(
    runs: EvalRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocked(*_: object, **__: object) -> Any:
        raise AssertionError("a socket was opened")

    suite = sums(Adder(fails=frozenset({3}), wrong=frozenset({5})))
    done = run(runs, suite, evaluation=evaluation(resamples=300))
    before = {p: p.stat().st_mtime_ns for p in runs.folder(done.record.run_id).rglob("*.parquet")}
    monkeypatch.setattr(socket, "socket", blocked)
    monkeypatch.setattr(socket, "create_connection", blocked)
    again = rescore(runs, sums(Adder(), systems={"adder": gone}), done.record.run_id)
    assert again.identical
    assert again.changes == ()
    assert again.scoring.scores == done.scoring.scores
    assert again.scoring.metrics == done.scoring.metrics
    assert again.scoring.record.resamples == 300
    assert scoring_numbers(runs, done.record.run_id) == [1]
    after = {p: p.stat().st_mtime_ns for p in runs.folder(done.record.run_id).rglob("*.parquet")}
    assert after == before


def test_another_scorer_is_written_beside_and_says_what_changed(runs: EvalRuns) -> None:
    done = run(runs, sums(Adder(wrong=frozenset({5, 6}))))
    run_id = done.record.run_id
    again = rescore(runs, sums(Adder(), score=lenient, scorer="sums-2"), run_id)
    assert (again.before, again.scoring.record.number) == (1, 2)
    assert again.scoring.record.scorer == "sums-2"
    assert not again.identical
    # 31 sums are known; 5 and 6 were wrong by one. -1 is one off 0 + 0, which random got
    assert again.changes == (
        MetricChange(system="adder", metric="correct", before=29 / 31, after=31 / 31, cases=2),
        MetricChange(system="popularity", metric="correct", before=0.0, after=1 / 31, cases=1),
        MetricChange(system="random", metric="correct", before=0.0, after=1 / 31, cases=1),
    )
    assert load_scoring(runs, run_id).record.number == 2
    assert load_scoring(runs, run_id, 1).scores == done.scoring.scores
    back = rescore(runs, sums(Adder()), run_id)
    assert (back.before, back.scoring.record.number) == (2, 3)


def test_the_same_numbers_of_newer_code_replace_the_record(
    runs: EvalRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = run(runs, sums(Adder())).record.run_id
    monkeypatch.setattr("lifehelper_data.evaluation.scoring.code_version", lambda: "9.9+newer")
    again = rescore(runs, sums(Adder()), run_id)
    assert again.identical
    assert load_scoring(runs, run_id).record.code_version == "9.9+newer"
    assert scoring_numbers(runs, run_id) == [1]


def test_absent_and_damaged_scorings_are_named(runs: EvalRuns) -> None:
    run_id = run(runs, sums(Adder())).record.run_id
    with pytest.raises(NotFound, match="no scoring 7"):
        load_scoring(runs, run_id, 7)
    folder = runs.folder(run_id) / "scorings" / "0001"
    (folder / "scores.parquet").write_bytes(b"half")
    with pytest.raises(Unavailable, match=r"scores\.parquet"):
        load_scoring(runs, run_id)
    (folder / "scoring.json").write_text("{", encoding="utf-8")
    with pytest.raises(Unavailable, match=r"scoring\.json"):
        load_scoring(runs, run_id)


def test_a_half_written_scoring_is_no_scoring(runs: EvalRuns) -> None:
    run_id = run(runs, sums(Adder())).record.run_id
    left = runs.folder(run_id) / "scorings" / ".0002.x.tmp"
    left.mkdir()
    (left / "scoring.json").write_text("{}", encoding="utf-8")
    assert scoring_numbers(runs, run_id) == [1]
