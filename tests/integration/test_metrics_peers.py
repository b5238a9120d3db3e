"""Our ranking metrics beside trec_eval (by ir-measures), ranx and scikit-learn."""

import importlib
from typing import Any

import numpy as np
import pytest

from lifehelper_data.evaluation.metrics import (
    Rankings,
    Relevance,
    ranking_metrics,
    with_ties,
)

# None of them has types, so they are imported by name.
TREC_EVAL = {
    "recall": "R", "precision": "P", "hit": "Success", "ndcg": "nDCG", "mrr": "RR", "map": "AP",
}  # fmt: skip
CUTS = (1, 3, 10, 100)
NAMES = [f"{name}@{k}" for name in TREC_EVAL for k in CUTS]


def untied(n: int, seed: int) -> tuple[list[list[int]], list[dict[int, float]]]:
    """Lists of 1 to 60 different items; up to 14 judged ones of grade 0 to 3, not all listed."""
    rng = np.random.default_rng(seed)
    lists, graded = [], []
    for _ in range(n):
        judged = rng.choice(60, rng.integers(1, 15), replace=False).tolist()
        graded.append(dict(zip(judged, rng.integers(0, 4, len(judged)).tolist(), strict=True)))
        lists.append(rng.choice(70, rng.integers(1, 60), replace=False).tolist())
    return lists, graded


def test_10_000_untied_cases_equal_trec_eval() -> None:
    n = 10_000
    lists, graded = untied(n, seed=0)
    ir: Any = importlib.import_module("ir_measures")
    measures = {
        str(ir.parse_measure(f"{TREC_EVAL[name]}@{k}")): f"{name}@{k}"
        for name in TREC_EVAL
        for k in CUTS
    }
    qrels = {str(q): {str(i): int(g) for i, g in graded[q].items()} for q in range(n)}
    run = {
        str(q): {str(item): float(-rank) for rank, item in enumerate(lists[q])} for q in range(n)
    }
    theirs = {name: np.full(n, np.nan) for name in NAMES}
    for one in ir.iter_calc([ir.parse_measure(name) for name in measures], qrels, run):
        theirs[measures[str(one.measure)]][int(one.query_id)] = one.value
    relevance = Relevance.from_grades(graded)
    ours = ranking_metrics(Rankings.from_lists(lists), relevance, NAMES)
    defined = relevance.sizes > 0
    assert 9_000 < defined.sum() < n
    for name in NAMES:
        assert np.abs(ours[name] - theirs[name])[defined].max() <= 1e-9, name
        # trec_eval says 0 where nothing is relevant; we say undefined
        assert np.isnan(ours[name][~defined]).all()
        assert (theirs[name][~defined] == 0).all()


@pytest.mark.full  # compiling ranx takes longer than all other tests of metrics together
@pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64")  # numba, compiling ranx
def test_untied_cases_equal_ranx() -> None:
    lists, graded = untied(300, seed=1)
    kept = [at for at in range(300) if any(graded[at].values())]
    ranx: Any = importlib.import_module("ranx")
    qrels = {f"{q:05}": {str(i): int(g) for i, g in graded[q].items()} for q in kept}
    run = {f"{q:05}": {str(item): float(-rank) for rank, item in enumerate(lists[q])} for q in kept}
    names = {"ndcg@10": "ndcg@10", "map@100": "map@100", "recall@3": "recall@3", "mrr@10": "mrr@10"}
    theirs = ranx.evaluate(
        ranx.Qrels.from_dict(qrels), ranx.Run.from_dict(run), list(names), return_mean=False
    )
    ours = ranking_metrics(
        Rankings.from_lists([lists[at] for at in kept]),
        Relevance.from_grades([graded[at] for at in kept]),
        list(names),
    )
    for name in names:
        assert np.abs(ours[name] - theirs[name]).max() <= 1e-9, name


@pytest.mark.parametrize("k", [1, 3, 10, 25])
def test_expected_ndcg_equals_scikit_learns_average_over_ties(k: int) -> None:
    sklearn: Any = importlib.import_module("sklearn.metrics")
    rng = np.random.default_rng(2)
    n, m = 1_000, 25
    grades = rng.integers(0, 4, (n, m))
    grades[:, 0] = 1  # scikit-learn has 0 where we are undefined
    scores = rng.integers(0, 5, (n, m)) / 4
    order = np.argsort(-scores, axis=1, kind="stable")
    rankings = Rankings.from_matrix(order, np.take_along_axis(scores, order, axis=1))
    relevance = Relevance.from_grades([dict(enumerate(row)) for row in grades.tolist()])
    ours = with_ties(rankings, relevance, [f"ndcg@{k}"])[f"ndcg@{k}"].expected
    theirs = [sklearn.ndcg_score(grades[at : at + 1], scores[at : at + 1], k=k) for at in range(n)]
    assert np.abs(ours - theirs).max() <= 1e-12
