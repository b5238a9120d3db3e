"""Does search find the book? Known items of the catalog, or labelled queries."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.metrics import Rankings, Relevance, ranking_metrics
from lifehelper_data.evaluation.search_systems import K, answer, fused, keyword, vector
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.evaluation.suite import (
    Generate,
    Metric,
    NotApplicable,
    Output,
    References,
    Score,
    Suite,
    SuiteContext,
    Undefined,
    UserCases,
    Value,
)
from lifehelper_data.evaluation.suites.search_cases import (
    LabelledQuery,
    absent_books,
    labelled_case,
)
from lifehelper_data.evaluation.suites.search_known_items import known_items
from lifehelper_data.stores.eval_books import all_book_ids, most_popular_books

RANKING: Final = (f"recall@{K}", f"mrr@{K}", f"ndcg@{K}", "hit@1")
ZERO_RESULTS: Final = "zero_result_rate"
DEGRADED: Final = "degraded_rate"


def _rule(name: str, *, margin: float, higher: bool = True, kind: Any = "mean") -> MetricRule:
    return MetricRule(name=name, higher_is_better=higher, margin=margin, gated=False, kind=kind)


METRICS: Final = (
    Metric(
        rule=_rule(f"ndcg@{K}", margin=0.02),
        meaning=f"graded order of the first {K}, 1 is ideal",
        primary=True,
        best=1.0,
    ),
    Metric(
        rule=_rule(f"mrr@{K}", margin=0.02),
        meaning="1 / rank of the first relevant book",
        primary=True,
        best=1.0,
    ),
    Metric(
        rule=_rule(f"recall@{K}", margin=0.02),
        meaning=f"share of the relevant books among the first {K}",
        best=1.0,
    ),
    Metric(
        rule=_rule("hit@1", margin=0.02, kind="proportion"),
        meaning="the first book is relevant",
        best=1.0,
    ),
    Metric(
        rule=_rule(ZERO_RESULTS, margin=0.01, higher=False, kind="proportion"),
        meaning="queries that find nothing at all",
    ),
    Metric(
        rule=_rule(DEGRADED, margin=0.01, higher=False, kind="proportion"),
        meaning="queries answered without one of the legs",
    ),
)


def score_search(case: Case, output: Output) -> Score:
    """Score one ranking. Ranking metrics are undefined where no relevant book is known.

    The case's target is `{"<book_id>": grade}`; grade 0 is judged and not relevant.
    """
    value: Any = output.value
    target: Any = case.target
    found: list[int] = list(value["book_ids"])
    grades = {int(book): int(grade) for book, grade in target.items() if int(grade) > 0}
    values: dict[str, Value] = {
        ZERO_RESULTS: float(not found),
        DEGRADED: float(value["degraded"] is not None),
    }
    values |= _ranking(found, grades)
    return Score(values=values, explanation=_explained(found, value["titles"], grades))


def _ranking(found: list[int], grades: Mapping[int, int]) -> dict[str, Value]:
    if not grades:
        return dict.fromkeys(RANKING, Undefined("no relevant book is known"))
    scored = ranking_metrics(Rankings.from_lists([found]), Relevance.from_grades([grades]), RANKING)
    return {name: float(scored[name][0]) for name in RANKING}


def _explained(found: list[int], titles: Sequence[str], grades: Mapping[int, int]) -> str:
    ranks = {book: rank for rank, book in reversed(list(enumerate(found, 1))) if book in grades}
    placed = ", ".join(f"{book} at {rank}" for book, rank in sorted(ranks.items(), key=_by_rank))
    absent = [str(book) for book in sorted(grades) if book not in ranks]
    said = [f"found {placed}" if placed else "found no relevant book"] if grades else []
    if absent:
        said.append(f"not in the first {K}: {', '.join(absent[:5])}" + "…" * (len(absent) > 5))
    if not found:
        said.append("no result at all")
    elif titles and found[0] not in grades:
        said.append(f"first was {titles[0]!r} ({found[0]})")
    return "; ".join(said)


def _by_rank(placed: tuple[int, int]) -> int:
    return placed[1]


def _do_nothing(_: SuiteContext) -> Generate:
    return lambda _case: answer([])


def _random(context: SuiteContext) -> Generate | NotApplicable:
    ids = context.release.sql(all_book_ids()).to_polars()["book_id"].to_numpy()
    if not len(ids):
        return NotApplicable("the release has no books")
    seed = context.evaluation.seed

    def generate(case: Case) -> Output:
        drawn = hashlib.sha256(f"{seed}:{case.case_id}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(drawn[:8], "big"))
        places = rng.choice(len(ids), size=min(K, len(ids)), replace=False)
        return answer(ids[places].tolist())

    return generate


def _popularity(context: SuiteContext) -> Generate | NotApplicable:
    if "popularity" not in context.release.tables:
        return NotApplicable("the release has no popularity")
    rows = context.release.sql(most_popular_books(K)).to_polars()
    popular = answer(rows["book_id"].to_list(), rows["title"].to_list())
    return lambda _case: popular


SEARCH: Final = Suite(
    name="search",
    question="Does search show the books that were meant among its first ten?",
    metrics=METRICS,
    make_cases=known_items,
    user_cases=UserCases(model=LabelledQuery, to_case=labelled_case, notes=absent_books),
    systems={"fused": fused, "keyword": keyword, "vector": vector},
    references=References(
        do_nothing=_do_nothing,
        always_refuse=NotApplicable("a search refuses by finding nothing: see do_nothing"),
        random=_random,
        popularity=_popularity,
    ),
    score=score_search,
    scorer="search-2",
)
