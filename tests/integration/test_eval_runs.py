"""Evaluation runs: pinned, chunked, resumable, complete in their counts."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable, WorkspaceLocked
from lifehelper_data.evaluation.cases import CaseSet, DataKind
from lifehelper_data.evaluation.runner import Done, Runner
from lifehelper_data.evaluation.runner_setup import Asked
from lifehelper_data.evaluation.suite import Metric, NotApplicable, Output, Score, Undefined
from lifehelper_data.stores.eval_records import RunStatus
from lifehelper_data.stores.eval_rows import MetricRow, OutputRow
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import load_scoring
from tests.integration.eval_kit import (
    Adder,
    Ticks,
    case_with_units,
    evaluation,
    rule,
    run,
    sums,
    whole,
    workspace_runs,
)

TIMED = {"ms"}


@pytest.fixture
def runs(tmp_path: Path) -> EvalRuns:
    return workspace_runs(tmp_path / "w")


def outputs(runs: EvalRuns, done: Done) -> list[dict[str, Any]]:
    """Return the outputs without their timings."""
    rows = map(dataclasses.asdict, runs.outputs(done.record.run_id))
    return [{k: v for k, v in row.items() if k not in TIMED} for row in rows]


def test_evaluated_undefined_and_missing_add_up_for_every_system_metric_and_slice(
    runs: EvalRuns,
) -> None:
    done = run(runs, sums(Adder(fails=frozenset({3, 4}), wrong=frozenset({5}))))
    # 40 cases i + 2 i; above 90 for i = 31 … 39: 9 undefined; 2 failed; of 29 left, 1 is wrong
    row = whole(done, "correct")
    assert (row.evaluated, row.undefined, row.missing, row.total) == (29, 9, 2, 40)
    assert row.mean == pytest.approx(28 / 29)
    error = whole(done, "error")
    assert error.mean == pytest.approx(1 / 29)
    for each in done.scoring.metrics:
        assert each.evaluated + each.undefined + each.missing == each.total
    sizes = [r for r in done.scoring.metrics if r.metric == "error" and r.slice_name == "size"]
    assert {r.slice_value: r.total for r in sizes} == {"small": 7, "big": 33}
    small = next(r for r in sizes if r.slice_value == "small")
    assert small.warning is not None
    assert "5 cases evaluated, fewer than 30" in small.warning


def test_counts_that_do_not_add_up_cannot_be_written() -> None:
    values: dict[str, Any] = dict.fromkeys(
        ("mean", "low", "high", "method", "warning", "slice_name", "slice_value")
    )
    with pytest.raises(ValueError, match="is not 4"):
        MetricRow(
            system="s", reference=False, metric="m", evaluated=1, undefined=1, missing=1, total=4,
            **values,
        )  # fmt: skip


def test_references_stand_beside_and_what_does_not_apply_says_why(runs: EvalRuns) -> None:
    done = run(runs, sums(Adder()))
    assert done.record.pins.systems == ("do_nothing", "random", "popularity", "adder")
    assert done.record.facts["not_applicable"] == {"always_refuse": "a sum cannot be refused"}
    assert whole(done, "correct", "adder").mean == 1.0
    # 0 is right for 0 + 0 alone, of the 31 sums that are known; no sum 3 i is 10 or -1
    assert whole(done, "correct", "do_nothing").mean == pytest.approx(1 / 31)
    assert whole(done, "correct", "popularity").mean == 0.0
    assert whole(done, "correct", "do_nothing").reference
    assert not any(row.slice_name for row in done.scoring.metrics if row.reference)


def test_the_same_pins_give_the_same_rows_but_for_timings(tmp_path: Path) -> None:
    def once(name: str, timer: Ticks) -> tuple[Done, list[dict[str, Any]]]:
        runs = workspace_runs(tmp_path / name)
        suite = sums(Adder(fails=frozenset({3})))
        done = Runner(runs=runs, timer=timer).run(suite, Asked(evaluation=evaluation()))
        return done, outputs(runs, done)

    slow = Ticks()
    slow.now = 1e6
    first, second = once("a", Ticks()), once("b", slow)
    assert first[0].record.pins == second[0].record.pins
    assert first[1] == second[1]
    assert first[0].scoring.record.rows_digest == second[0].scoring.record.rows_digest


def test_a_complete_run_is_run_anew_and_not_taken_up(runs: EvalRuns) -> None:
    first, second = run(runs, sums(Adder())), run(runs, sums(Adder()))
    assert first.record.run_id < second.record.run_id
    assert second.resumed is None
    assert runs.run_ids() == [first.record.run_id, second.record.run_id]


@pytest.mark.parametrize("dies_after", [0, 4, 5, 39])
@pytest.mark.parametrize("by_id", [True, False])
def test_a_killed_run_goes_on_and_counts_nothing_twice(
    runs: EvalRuns, dies_after: int, by_id: bool
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(dies_after=dies_after)))
    (record,) = runs.records()
    assert record.status is RunStatus.RUNNING
    with pytest.raises(NotFound, match="--resume"):
        load_scoring(runs, record.run_id)
    adder = Adder()
    if by_id:
        runner = Runner(runs=runs, timer=Ticks())
        done = runner.resume(sums(adder), record.run_id, Asked(evaluation=evaluation()))
    else:
        done = run(runs, sums(adder))
    assert done.record.run_id == record.run_id
    assert done.record.status is RunStatus.COMPLETE
    assert done.resumed == 3 * 40 + dies_after
    assert len(adder.asked) == 40 - dies_after
    keys = [(row["system"], row["seq"]) for row in outputs(runs, done)]
    assert len(keys) == len(set(keys)) == 4 * 40
    fresh = run(workspace_runs(runs.layout.root.parent / "fresh"), sums(Adder()))
    assert done.scoring.record.rows_digest == fresh.scoring.record.rows_digest


def test_a_process_that_dies_at_once_keeps_every_full_chunk(runs: EvalRuns) -> None:
    """A kill leaves no chance to write what is in memory: only whole chunks are there."""
    written: list[int] = []
    real = runs.append

    def append(run_id: str, rows: list[OutputRow]) -> None:
        if len(written) == 3:  # the machine is gone: nothing more reaches the disk
            raise KeyboardInterrupt
        written.append(len(rows))
        real(run_id, rows)

    runs.append = append  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder()))
    del runs.append
    assert written == [4, 4, 4]
    done = run(runs, sums(Adder()))
    assert done.resumed == 12
    assert whole(done, "correct").total == 40


def test_a_run_killed_before_scoring_is_scored_without_asking_again(runs: EvalRuns) -> None:
    def broken(*_: object) -> Score:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(), score=broken))
    adder = Adder()
    done = run(runs, sums(adder))
    assert (done.resumed, adder.asked) == (160, [])
    assert whole(done, "correct").mean == 1.0


def test_other_pins_are_another_run(runs: EvalRuns) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(dies_after=3)))
    assert run(runs, sums(Adder()), evaluation=evaluation(seed=8)).resumed is None
    assert run(runs, sums(Adder(), count=39)).resumed is None
    assert len(runs.run_ids()) == 3


def test_resume_refuses_other_code(runs: EvalRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(dies_after=3)))
    (run_id,) = runs.run_ids()
    monkeypatch.setattr("lifehelper_data.evaluation.runner.code_hash", lambda: "other")
    with pytest.raises(InvalidRequest, match="outputs of two versions are not mixed"):
        Runner(runs=runs, timer=Ticks()).resume(
            sums(Adder()), run_id, Asked(evaluation=evaluation())
        )


def test_the_cost_limit_stops_cleanly_and_a_higher_one_goes_on(runs: EvalRuns) -> None:
    adder = Adder()
    done = run(runs, sums(adder), max_cost=7.0)
    assert done.record.status is RunStatus.STOPPED
    assert len(adder.asked) == 7
    row = whole(done, "correct")
    assert (row.evaluated, row.undefined, row.missing, row.total) == (7, 0, 33, 40)
    lost = [s for s in done.scoring.scores if s.system == "adder" and s.status == "missing"]
    assert {s.reason for s in lost} == {"not generated: the run was stopped before"}
    again = run(runs, sums(adder), max_cost=7.0)
    assert (again.record.run_id, len(adder.asked)) == (done.record.run_id, 7)
    assert again.scoring.record.number == 1
    free = run(runs, sums(adder))
    assert (free.record.run_id, len(adder.asked)) == (done.record.run_id, 40)
    assert free.record.status is RunStatus.COMPLETE
    assert whole(free, "correct").evaluated == 31


def test_a_case_that_cannot_be_answered_is_missing_with_its_error(runs: EvalRuns) -> None:
    done = run(runs, sums(Adder(fails=frozenset({3}))))
    (lost,) = (s for s in done.scoring.scores if s.metric == "correct" and s.status == "missing")
    assert (lost.case_id, lost.value, lost.explanation) == ("sum-3", None, None)
    assert lost.reason == "Unavailable: model down for user None"


def test_a_bug_in_a_system_is_no_missing_case(runs: EvalRuns) -> None:
    def broken(_: object) -> Output:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        run(runs, sums(broken))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"correct": 1.0}, "expected values for"),
        ({"correct": 1.0, "error": 0.0, "extra": 0.0}, "expected values for"),
        ({"correct": 1.0, "error": float("nan")}, "'error' is nan"),
        ({"correct": 1.0, "error": {"claim": 0.0}}, "expected values for"),
    ],
)
def test_a_scorer_that_leaves_something_out_is_a_bug(
    runs: EvalRuns, values: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        run(runs, sums(Adder(), score=lambda *_: Score(values=values)))


def test_metrics_per_unit_count_every_claim_also_of_a_case_without_output(runs: EvalRuns) -> None:
    cases = [
        case_with_units("a", {"c1": "price", "c2": "stock"}),
        case_with_units("b", {"c1": "price", "c2": "price", "c3": "stock"}),
        case_with_units("c", {}),
    ]
    metrics = (
        Metric(rule=rule("supported", kind="proportion"), meaning="", primary=True, per_unit=True),
        Metric(rule=rule("violations", higher=False), meaning=""),
    )

    def score(case: Any, output: Output) -> Score:
        claims = {unit.unit_id: float(unit.unit_id != "c2") for unit in case.units}
        return Score(values={"supported": claims or Undefined("no claim"), "violations": 2.0})

    def grounds(case: Any) -> Output:
        if case.case_id == "b":
            raise Unavailable("down")
        return Output(value={"sum": 0})

    suite = sums(
        grounds,
        metrics=metrics,
        score=score,
        make_cases=lambda _: CaseSet.of(DataKind.LABELLED, cases),
    )
    done = run(runs, suite)
    row = whole(done, "supported")
    # a has 2 claims, one supported; b is missing with 3; c has none: undefined
    assert (row.evaluated, row.undefined, row.missing, row.total) == (2, 1, 3, 6)
    assert row.mean == 1 / 2
    violations = whole(done, "violations")
    assert (violations.evaluated, violations.missing, violations.total) == (2, 1, 3)
    kinds = {
        r.slice_value: (r.evaluated, r.missing)
        for r in done.scoring.metrics
        if r.metric == "supported" and r.slice_name == "kind" and r.system == "adder"
    }
    assert kinds == {"price": (1, 2), "stock": (1, 1)}


def test_a_suite_without_a_system_that_applies_is_refused(runs: EvalRuns) -> None:
    suite = sums(Adder(), systems={"adder": lambda _: NotApplicable("no vectors")})
    with pytest.raises(InvalidRequest, match="adder: no vectors"):
        run(runs, suite)
    assert runs.run_ids() == []


def test_two_processes_do_not_write_one_run(runs: EvalRuns) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(runs, sums(Adder(dies_after=1)))
    (run_id,) = runs.run_ids()
    with runs.writing(run_id), pytest.raises(WorkspaceLocked, match="written by another process"):
        run(runs, sums(Adder()))
