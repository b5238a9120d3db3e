"""Does a particle change what is found? A noun alone against the noun with a particle."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.evaluation.cases import Case, CaseSet, DataKind
from lifehelper_data.evaluation.search_seeds import draw_order, seeded_rng
from lifehelper_data.evaluation.search_systems import K, keyword_ids, vector_ids
from lifehelper_data.evaluation.search_variants import PARTICLES, with_particle
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
    Value,
)
from lifehelper_data.models.korean import KoreanAnalyser, lexicon_words
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.eval_books import all_book_ids, most_popular_books, sampled_texts

IDENTICAL: Final = f"keyword_identical@{K}"
PAIRS_PER_BOOK: Final = 2
"""Nouns per sampled book: 400 pairs by default, an interval of ±2 points around 95 %."""
RANKINGS: Final = ("keyword", "vector", "fused")

_NOUN: Final = re.compile("[가-힣]{1,10}")


def noun_pairs(context: SuiteContext) -> CaseSet:
    """Draw nouns from the sampled books' titles and descriptions, and attach a particle to each.

    Nouns are what the analyser takes for common or proper nouns in running text; those that the
    project's lexicon adds to it are left out, as they were added to pass this very test. Every noun
    is asked once, with one particle drawn by the seed, so that pairs are independent.
    """
    evaluation, workspace = context.evaluation, context.release
    nouns = _nouns(workspace, evaluation.seed, evaluation.sample)
    order = sorted(nouns, key=lambda noun: (draw_order(evaluation.seed, noun), noun))
    chosen = sorted(order[: PAIRS_PER_BOOK * evaluation.sample])
    cases = [_pair(noun, nouns[noun], evaluation.seed) for noun in chosen]
    note = (
        f"{len(chosen)} of {len(nouns):,} nouns of {evaluation.sample} sampled books, drawn by "
        f"seed {evaluation.seed}; nouns of the analyser's lexicon left out"
    )
    return CaseSet.of(DataKind.GENERATED, cases, [note])


def _nouns(workspace: Workspace, seed: int, size: int) -> dict[str, str]:
    """Return noun -> where it was met first: title or description."""
    rows = workspace.sql(sampled_texts(seed, size)).to_polars()
    analyser, listed = KoreanAnalyser(), lexicon_words()
    found: dict[str, str] = {}
    for place in ("title", "description"):
        for nouns in analyser.nouns(rows[place].drop_nulls().to_list()):
            for noun in nouns:
                if _NOUN.fullmatch(noun) and noun not in listed:
                    found.setdefault(noun, place)
    return found


def _pair(noun: str, place: str, seed: int) -> Case:
    drawn = seeded_rng(f"{seed}:particle:{noun}").integers(len(PARTICLES))
    particle = PARTICLES[int(drawn)]
    return Case(
        case_id=f"{noun} {particle.name}",
        family=noun,
        input={"noun": noun, "with_particle": with_particle(noun, particle)},
        slices={
            "particle": particle.name,
            "syllables": "1" if len(noun) == 1 else "2" if len(noun) == 2 else "3+",
            "met_in": place,
        },
    )


def _answer(rankings: dict[str, tuple[Sequence[int], Sequence[int]]]) -> Output:
    return Output(value={name: [list(a), list(b)] for name, (a, b) in rankings.items()})


def _in_service(context: SuiteContext) -> Generate:
    workspace = context.release
    engine = workspace.search_engine()
    engine.preload()

    def vectors(query: str) -> list[int]:
        try:
            return vector_ids(engine, query)
        except Unavailable:
            return []  # undefined then: the search is keyword-only

    def whole(query: str) -> list[int]:
        found = workspace.search({"query": query, "size": K})
        return [result.book_id for result in found.results]

    def generate(case: Case) -> Output:
        asked: Any = case.input
        pair = (asked["noun"], asked["with_particle"])
        legs = {"keyword": lambda query: keyword_ids(engine, query), "vector": vectors}
        rankings = {**legs, "fused": whole}
        return _answer({name: (find(pair[0]), find(pair[1])) for name, find in rankings.items()})

    return generate


def score_pair(case: Case, output: Output) -> Score:
    """Score two rankings of each leg and of the whole search.

    A pair that finds nothing either way says nothing of particles: undefined, not identical.
    """
    value: Any = output.value
    alone, attached = value["keyword"]
    nothing = Undefined("neither query finds anything")
    values: dict[str, Value] = {
        IDENTICAL: float(alone == attached) if alone or attached else nothing
    }
    for name in RANKINGS:
        one, other = value[name]
        values[f"{name}_overlap@{K}"] = overlap(one, other) if one or other else nothing
    return Score(values=values, explanation="; ".join(_explained(case, alone, attached)))


def overlap(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the share of the longer list that both have; not both empty.

    >>> overlap([1, 2, 3, 4], [4, 3, 9])
    0.5
    """
    return len(set(one) & set(other)) / max(len(one), len(other))


def _explained(case: Case, alone: list[int], attached: list[int]) -> Iterator[str]:
    asked: Any = case.input
    if alone == attached:
        yield f"keyword: the same {len(alone)} books"
        return
    first = next((rank for rank, (a, b) in enumerate(zip(alone, attached), 1) if a != b), None)  # noqa: B905 - the shorter one decides
    where = min(len(alone), len(attached)) + 1 if first is None else first
    yield f"keyword: {asked['noun']!r} and {asked['with_particle']!r} differ from rank {where} on"
    yield f"{len(alone)} and {len(attached)} books, {len(set(alone) & set(attached))} in both"


def _nothing(_: SuiteContext) -> Generate:
    return lambda _case: _answer(dict.fromkeys(RANKINGS, ((), ())))


def _random(context: SuiteContext) -> Generate | NotApplicable:
    ids = context.release.sql(all_book_ids()).to_polars()["book_id"].to_numpy()
    if not len(ids):
        return NotApplicable("the release has no books")
    seed = context.evaluation.seed

    def drawn(rng: np.random.Generator) -> list[int]:
        places = rng.choice(len(ids), size=min(K, len(ids)), replace=False)
        return [int(ids[place]) for place in places]

    def generate(case: Case) -> Output:
        rng = seeded_rng(f"{seed}:{case.case_id}")
        return _answer({name: (drawn(rng), drawn(rng)) for name in RANKINGS})

    return generate


def _popularity(context: SuiteContext) -> Generate | NotApplicable:
    if "popularity" not in context.release.tables:
        return NotApplicable("the release has no popularity")
    books = context.release.sql(most_popular_books(K)).to_polars()["book_id"].to_list()
    return lambda _case: _answer(dict.fromkeys(RANKINGS, (books, books)))


def _overlap(name: str, meaning: str) -> Metric:
    return Metric(
        rule=MetricRule(
            name=f"{name}_overlap@{K}",
            higher_is_better=True,
            margin=0.02,
            gated=False,
            kind="mean",
        ),
        meaning=meaning,
        best=1.0,
    )


SEARCH_PARTICLES: Final = Suite(
    name="search-particles",
    question="Does a noun find the same books with a particle as without? (Popularity always does: "
    "being the same is not yet being right.)",
    metrics=(
        Metric(
            rule=MetricRule(
                name=IDENTICAL, higher_is_better=True, margin=0.02, gated=False, kind="proportion"
            ),
            meaning=f"pairs whose first {K} by words are the same books in the same order",
            primary=True,
            best=1.0,
        ),
        _overlap("keyword", f"share of the first {K} by words that both queries find"),
        _overlap("vector", f"share of the first {K} by meaning that both queries find"),
        _overlap("fused", f"share of the first {K} of the search that both queries find"),
    ),
    make_cases=noun_pairs,
    user_cases=None,
    systems={"search": _in_service},
    references=References(
        do_nothing=_nothing,
        always_refuse=NotApplicable("a search refuses by finding nothing: see do_nothing"),
        random=_random,
        popularity=_popularity,
    ),
    score=score_pair,
    scorer="search-particles-1",
)
