"""The search suite on real releases: a small shop of known words, and the fixture shop."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.compare import compare_runs
from lifehelper_data.evaluation.runner import Done, Runner
from lifehelper_data.evaluation.runner_setup import Asked
from lifehelper_data.evaluation.runs import new_run_id
from lifehelper_data.evaluation.statistics.comparison import Verdict
from lifehelper_data.evaluation.suite import Generate, NotApplicable, Output, Suite, SuiteContext
from lifehelper_data.evaluation.suites.search import SEARCH
from lifehelper_data.settings import load_settings
from lifehelper_data.stores.eval_records import canonical
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_users import UserDigest
from lifehelper_data.stores.layout import Layout
from tests.integration.build_kit import NOW, build
from tests.integration.eval_kit import Ticks, evaluation
from tests.integration.release_kit import ManualClock
from tests.integration.search_kit import (
    Book,
    SearchShop,
    WordEncoder,
    built_fixture_shop,
    encoding_with,
)

BOOKS = [
    Book(book_id=1, title="바다 우체부", author="윤새벽 (지은이)", description="바다 편지"),
    Book(book_id=2, title="바다우체부", author="한가람", description="섬 마을"),
    Book(book_id=3, title="겨울 정원 이야기", author="윤새벽 (지은이)", description="꽃 겨울"),
    Book(book_id=4, title="겨울 정원 이야기 2", author="윤새벽 (지은이)", description="꽃 눈"),
    Book(book_id=5, title="삼국지", author=None, description=None),
    Book(book_id=6, title="★", author="한가람", description="별"),
]


FUSED = dataclasses.replace(SEARCH, systems={"fused": SEARCH.systems["fused"]})
"""The suite with the system in service alone: what is tested here is the way through it."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchShop]:
    with encoding_with(WordEncoder()):
        shop = SearchShop(tmp_path_factory.mktemp("eval-search")).write(BOOKS)
        shop.build()
        yield shop


def runs_of(workspace: Path) -> EvalRuns:
    return EvalRuns(Layout(workspace.resolve()), ManualClock(NOW), new_run_id)


def run(workspace: Path, suite: Suite = FUSED, **asked: Any) -> Done:
    settings = asked.pop("evaluation", evaluation())
    runner = Runner(runs=runs_of(workspace), timer=Ticks())
    return runner.run(suite, Asked(evaluation=settings, **asked))


def asked(workspace: Path, done: Done) -> dict[str, set[int]]:
    """Return the relevant books by query."""
    rows = runs_of(workspace).cases(done.record.run_id)
    return {
        json.loads(row.input)["query"]: {int(book) for book in json.loads(row.target)}
        for row in rows
    }


def means(done: Done, system: str = "fused") -> dict[str, float | None]:
    return {
        row.metric: row.mean
        for row in done.scoring.metrics
        if row.system == system and not row.slice_name
    }


def test_known_items_come_from_the_catalog_with_every_book_that_is_meant(shop: SearchShop) -> None:
    done = run(shop.workspace)
    queries = asked(shop.workspace, done)
    expected = {
        "바다 우체부": {1, 2},
        "바다우체부": {1, 2},  # the title of 2, and of 1 without its space: one case
        "겨울 정원 이야기": {3},
        "겨울정원이야기": {3},
        "윤새벽 겨울 정원": {3, 4},  # names both volumes just as well: one case
        "겨울 정원 이야기 2": {4},
        "삼국지": {5},
    }
    assert {query: queries.get(query) for query in expected} == expected
    assert "★" not in queries
    facts = done.record.facts
    assert facts["data"] == "generated"
    repeats: Any = facts["repeats"]
    assert {repeat["reason"] for repeat in repeats} <= {"same input", "same input, other labels"}
    assert len(repeats) >= 2
    exact = next(
        row
        for row in done.scoring.metrics
        if (row.metric, row.slice_value) == ("mrr@10", "exact title")
    )
    assert exact.mean == 1.0


def test_gold_answers_score_one_and_doing_nothing_zero(shop: SearchShop) -> None:
    def gold(_: SuiteContext) -> Generate:
        def generate(case: Case) -> Output:
            target: Any = case.target
            return Output(
                value={"book_ids": [int(b) for b in target], "titles": [], "degraded": None}
            )

        return generate

    done = run(shop.workspace, dataclasses.replace(SEARCH, systems={"gold": gold}))
    for name in ("ndcg@10", "mrr@10", "recall@10"):
        assert means(done, "gold")[name] == 1.0
        assert means(done, "do_nothing")[name] == 0.0
    assert means(done, "gold")["zero_result_rate"] == 0.0
    assert means(done, "do_nothing")["zero_result_rate"] == 1.0


def test_a_run_pins_release_space_tunables_and_code(shop: SearchShop) -> None:
    done = run(shop.workspace, label="mine")
    pins = done.record.pins
    with shop.open() as opened:
        assert pins.release is not None
        assert (pins.release.number, pins.release.identity) == (1, opened.release.identity)
        assert len(pins.release.bytes) == 64
        assert pins.vector_space == opened.facts["vector_space_id"]
        assert pins.tunables == opened.facts["tunables"]
    assert (pins.provider, pins.model, pins.prompts, pins.seed) == ("none", None, {}, 7)
    assert pins.systems == ("do_nothing", "random", "popularity", "fused")
    assert "always_refuse" in str(done.record.facts["not_applicable"])


def test_a_configuration_is_tried_on_a_release_built_with_another(shop: SearchShop) -> None:
    settings = load_settings(None, {}, {"search.rrf_k": 7})
    done = run(shop.workspace, settings=settings)
    assert done.record.pins.tunables == json.loads(canonical(settings.tunables()))  # type: ignore[arg-type]
    assert done.record.pins.tunables != run(shop.workspace).record.pins.tunables


def test_random_depends_on_seed_and_case_only(shop: SearchShop) -> None:
    cases = [Case(case_id=str(i), family=str(i), input={"query": "q"}) for i in range(8)]
    opener = SEARCH.references.random
    assert not isinstance(opener, NotApplicable)

    def drawn(seed: int, order: int) -> dict[str, object]:
        with shop.open() as opened:
            generate = opener(
                SuiteContext(
                    workspace=opened, evaluation=evaluation(seed=seed), users=UserDigest(b"k" * 16)
                )
            )
            assert not isinstance(generate, NotApplicable)
            return {case.case_id: generate(case).value for case in cases[::order]}

    forwards = drawn(7, 1)
    assert forwards == drawn(7, -1)
    assert forwards != drawn(8, 1)
    assert len({str(value) for value in forwards.values()}) > 1
    found: Any = forwards["0"]
    assert sorted(found["book_ids"]) == [1, 2, 3, 4, 5, 6]  # all there are, each once


def test_labelled_queries_without_a_relevant_book_are_undefined(
    shop: SearchShop, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    lines = [
        {
            "case_id": "a",
            "query": "바다",
            "relevant": {"1": 3, "2": 1},
            "slices": {"kind": "topic"},
        },
        {"case_id": "b", "query": "우주선", "relevant": {}},
        {"case_id": "c", "query": "?!", "relevant": {"5": 1, "77": 1, "78": 0}},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = run(shop.workspace, cases_file=file)
    assert done.record.facts["data"] == "labelled"
    assert done.record.facts["notes"] == [
        "1 relevant books are not in release 1 and count as not found: 77"
    ]
    rows = {r.metric: r for r in done.scoring.metrics if r.system == "fused" and not r.slice_name}
    ndcg, zero = rows["ndcg@10"], rows["zero_result_rate"]
    assert (ndcg.evaluated, ndcg.undefined, ndcg.missing, ndcg.total) == (2, 1, 0, 3)
    assert (zero.evaluated, zero.total) == (3, 3)
    assert zero.mean == pytest.approx(1 / 3)  # ?! has nothing to look up
    why = {
        s.case_id: s for s in done.scoring.scores if (s.system, s.metric) == ("fused", "ndcg@10")
    }
    assert why["b"].reason == "no relevant book is known"
    assert why["c"].explanation == (
        "found no relevant book; not in the first 10: 5, 77; no result at all"
    )


def test_a_missing_encoder_shows_as_degraded_and_not_as_a_lower_score_alone(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_: object) -> object:
        raise Unavailable("no model")

    whole = run(shop.workspace)
    monkeypatch.setattr("lifehelper_data.runtime.open_search.load_query_encoder", down)
    done = run(shop.workspace)
    assert means(whole)["degraded_rate"] == 0.0
    assert means(done)["degraded_rate"] == 1.0


def test_a_release_without_indexes_is_refused_with_the_remedy(tmp_path: Path) -> None:
    shop = SearchShop(tmp_path).write(BOOKS)
    build(shop.workspace, shop.folder / "source.toml")
    with pytest.raises(Unavailable, match="no keyword index"):
        run(shop.workspace)
    assert runs_of(shop.workspace).run_ids() == []


def test_search_of_the_fixture_shop_beats_its_yardsticks(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    workspace = built_fixture_shop(tmp_path_factory)
    with encoding_with(WordEncoder()):
        done = run(workspace, evaluation=evaluation(sample=25))
    runs = runs_of(workspace)
    assert done.record.cases >= 50
    mrr = {s: means(done, s)["mrr@10"] or 0.0 for s in done.record.pins.systems}
    # the query vectors of this test are noise to the books' own: only words find anything
    assert mrr["fused"] > 0.7
    assert max(mrr["do_nothing"], mrr["random"], mrr["popularity"]) < 0.2
    exact = next(
        row
        for row in done.scoring.metrics
        if (row.metric, row.slice_value) == ("mrr@10", "exact title")
    )
    assert exact.mean == 1.0
    found = compare_runs(
        runs, FUSED, done.record.run_id, done.record.run_id,
        settings=evaluation(), base_system="popularity",
    )  # fmt: skip
    ranking = {m.rule.name: m.verdict for m in found.metrics}
    assert ranking["ndcg@10"] == ranking["mrr@10"] == ranking["recall@10"] == Verdict.BETTER
