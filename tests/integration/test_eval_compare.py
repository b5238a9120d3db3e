"""Comparing runs: paired on equal cases, the rest missing, never better than itself."""

from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.domain.errors import InvalidRequest, NotFound
from lifehelper_data.evaluation.cases import CaseSet, DataKind
from lifehelper_data.evaluation.compare import Pairing, RunComparison, compare_runs
from lifehelper_data.evaluation.failures import look_at_case, worst_cases
from lifehelper_data.evaluation.scoring import rescore
from lifehelper_data.evaluation.statistics.comparison import Verdict
from lifehelper_data.stores.eval_runs import EvalRuns
from tests.integration.eval_kit import Adder, evaluation, run, sum_case, sums, workspace_runs

WRONG = frozenset(range(0, 30, 2))


@pytest.fixture
def runs(tmp_path: Path) -> EvalRuns:
    return workspace_runs(tmp_path / "w")


def compared(runs: EvalRuns, base: str, new: str, **asked: Any) -> RunComparison:
    settings = asked.pop("settings", evaluation())
    return compare_runs(runs, sums(Adder()), base, new, settings=settings, **asked)


def with_cases(*numbers: int, shift: int = 0) -> Any:
    cases = [sum_case(i, i, 2 * i + shift) for i in numbers]
    return lambda _: CaseSet.of(DataKind.GENERATED, cases)


def test_a_run_with_itself_shows_no_difference(runs: EvalRuns) -> None:
    run_id = run(runs, sums(Adder(wrong=WRONG, fails=frozenset({3})))).record.run_id
    found = compared(runs, run_id, run_id)
    assert {each.verdict for each in found.metrics} == {Verdict.NO_DIFFERENCE}
    assert {each.effect for each in found.metrics} == {0.0}
    assert {part.comparison.verdict for part in found.slices} == {Verdict.NO_DIFFERENCE}
    assert "the runs have the same pins" in found.notes
    assert found.pairing.note is None


def test_a_better_run_is_better_and_the_other_way_round_worse(runs: EvalRuns) -> None:
    bad = run(runs, sums(Adder(wrong=WRONG))).record.run_id
    good = run(runs, sums(Adder())).record.run_id
    there, back = compared(runs, bad, good), compared(runs, good, bad)
    assert [each.verdict for each in there.metrics] == [Verdict.BETTER] * 2
    assert [each.verdict for each in back.metrics] == [Verdict.WORSE] * 2
    correct = there.metrics[0]
    # 31 known sums, 15 of them wrong in the base
    assert (correct.base_mean, correct.new_mean) == (16 / 31, 1.0)
    assert correct.effect == pytest.approx(15 / 31)
    assert there.metrics[1].effect == pytest.approx(-15 / 31)  # error: lower is better
    assert (correct.counts.evaluated, correct.counts.undefined, correct.counts.missing) == (
        31,
        9,
        0,
    )
    assert correct.p_holm is not None
    assert correct.p is not None
    assert correct.p <= correct.p_holm < 0.05


def test_margins_come_from_the_settings(runs: EvalRuns) -> None:
    bad = run(runs, sums(Adder(wrong=WRONG))).record.run_id
    good = run(runs, sums(Adder())).record.run_id
    wide = evaluation(margins={"sums.correct": 0.9, "other.metric": 1.0})
    found = compared(runs, bad, good, settings=wide)
    assert found.metrics[0].rule.margin == 0.9
    assert found.metrics[0].verdict is Verdict.NO_DIFFERENCE
    assert found.metrics[1].rule.margin == 0.05
    with pytest.raises(InvalidRequest, match=r"sums\.corect.*known: sums\.correct, sums\.error"):
        compared(runs, bad, good, settings=evaluation(margins={"sums.corect": 0.1}))


def test_failed_answers_are_missing_pairs_and_no_zeros(runs: EvalRuns) -> None:
    base = run(runs, sums(Adder(fails=frozenset({1, 2})))).record.run_id
    new = run(runs, sums(Adder(fails=frozenset({2, 3, 4})))).record.run_id
    counts = compared(runs, base, new).metrics[0].counts
    # missing: 1, 2, 3, 4; undefined: 31 … 39; 40 - 4 - 9 = 27
    assert (counts.evaluated, counts.undefined, counts.missing, counts.total) == (27, 9, 4, 40)


def test_runs_of_different_cases_pair_on_those_they_share(runs: EvalRuns) -> None:
    base = run(runs, sums(Adder(), make_cases=with_cases(*range(25)))).record.run_id
    new = run(runs, sums(Adder(), make_cases=with_cases(*range(5, 28)))).record.run_id
    found = compared(runs, base, new)
    assert found.pairing == Pairing(same=20, only_base=5, only_new=3, changed=0)
    assert found.pairing.note is not None
    assert "20 are in both and were compared" in found.pairing.note
    counts = found.metrics[0].counts
    assert (counts.evaluated, counts.undefined, counts.missing, counts.total) == (20, 0, 8, 28)


def test_equal_ids_of_other_content_are_not_paired(runs: EvalRuns) -> None:
    base = run(runs, sums(Adder(), make_cases=with_cases(0, 1, 2))).record.run_id
    new = run(runs, sums(Adder(), make_cases=with_cases(0, 1, 2, shift=1))).record.run_id
    found = compared(runs, base, new)
    assert found.pairing == Pairing(same=0, only_base=0, only_new=0, changed=3)
    counts = found.metrics[0].counts
    assert (counts.evaluated, counts.missing, counts.total) == (0, 6, 6)
    assert {each.verdict for each in found.metrics} == {Verdict.TOO_SMALL}


def test_slices_below_thirty_cases_say_so(runs: EvalRuns) -> None:
    many = sums(Adder(), make_cases=with_cases(*range(31)))
    run_id = run(runs, many).record.run_id
    parts = {p.value: p for p in compared(runs, run_id, run_id).slices}
    assert set(parts) == {"small", "big"}
    small = parts["small"]
    assert small.comparison.counts.evaluated == 7  # 3 i < 20
    assert small.warning is not None
    assert "7 cases" in small.warning
    assert {p.comparison.rule.name for p in parts.values()} == {"correct"}


def test_a_system_is_compared_with_a_reference_of_the_same_run(runs: EvalRuns) -> None:
    run_id = run(runs, sums(Adder())).record.run_id
    found = compared(runs, run_id, run_id, base_system="do_nothing")
    assert (found.base_system, found.new_system) == ("do_nothing", "adder")
    assert found.metrics[0].verdict is Verdict.BETTER
    with pytest.raises(NotFound, match="no system 'adders'"):
        compared(runs, run_id, run_id, new_system="adders")


def test_different_suites_are_refused(runs: EvalRuns) -> None:
    first = run(runs, sums(Adder())).record.run_id
    second = run(runs, sums(Adder(), name="others")).record.run_id
    with pytest.raises(InvalidRequest, match=r"suite 'sums'.*'others'"):
        compared(runs, first, second)


def test_what_differs_between_runs_is_said(runs: EvalRuns) -> None:
    first = run(runs, sums(Adder())).record.run_id
    second = run(runs, sums(Adder()), evaluation=evaluation(seed=9), max_cost=3.0).record.run_id
    rescore(runs, sums(Adder(), scorer="sums-2"), second)
    notes = compared(runs, first, second).notes
    assert any("'sums-1' and 'sums-2'" in note for note in notes)
    assert "the runs differ in: seed" in notes
    assert f"not complete: {second}" in notes


def test_the_worst_cases_come_first_and_the_good_ones_never(runs: EvalRuns) -> None:
    suite = sums(Adder(fails=frozenset({8}), wrong=frozenset({2, 5})))
    done = run(runs, suite)
    worst = worst_cases(runs, suite, done.scoring, done.record.run_id, count=10)
    assert [(f.case.case_id, f.score.value) for f in worst] == [
        ("sum-8", None),
        ("sum-2", 0.0),
        ("sum-5", 0.0),
    ]
    assert worst[1].score.explanation == "said 7, is 6"
    few = worst_cases(runs, suite, done.scoring, done.record.run_id, count=1, system="popularity")
    assert [f.score.system for f in few] == ["popularity"]


def test_one_case_shows_everything_stored_about_it(runs: EvalRuns) -> None:
    done = run(runs, sums(Adder()))
    seen = look_at_case(runs, done.record.run_id, "sum-4")
    assert [row.system for row in seen.outputs] == list(done.record.pins.systems)
    assert seen.outputs[-1].value == '{"sum":12}'
    assert {(row.system, row.metric) for row in seen.scores} == {
        (s, m) for s in done.record.pins.systems for m in ("correct", "error")
    }
    with pytest.raises(NotFound, match="no case 'sum-99'"):
        look_at_case(runs, done.record.run_id, "sum-99")
