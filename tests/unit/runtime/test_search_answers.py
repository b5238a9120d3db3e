"""How answers of the search engine are ordered, explained and kept ready.

The legs and their fakes are those of `test_search`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.runtime.requests import parse_search_request
from lifehelper_data.stores.search_catalog import SHOWN_COLUMNS, SearchCatalog
from tests.unit.runtime.test_search import (
    Leg,
    OneVector,
    Words,
    catalog,
    engine,
    failing,
    fused_scores,
    ids,
    search,
)


@pytest.fixture(autouse=True)
def _no_analyser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifehelper_data.runtime.legs.KoreanAnalyser", Words)


@pytest.mark.parametrize("query", ["메타 포워즈 ②", "메타포워즈2", " 메타\u3000포 워즈 2"])
def test_the_exact_title_stands_first_though_no_leg_found_it(query: str) -> None:
    # without exact_titles_first; without squash in `titled`
    books = catalog({1: "다른 책", 8: "메타포 워즈 2", 9: "메타포워즈 ②"})
    response = search(engine(Leg({1: 9.0}), Leg({1: 0.9, 9: 0.8}), books=books), query)
    assert ids(response) == [8, 9, 1]
    assert [r.explanation.exact_title for r in response.results if r.explanation] == [
        True, True, False,
    ]  # fmt: skip
    assert fused_scores(response) == [0.0, 1 / (60 + 2), 1 / (60 + 1) + 1 / (60 + 1)]


def test_the_exact_title_passes_the_filters_too() -> None:  # without the mask in `_exact`
    books = catalog({1: "바다", 2: "바다", 3: "산"}, {1: 90_000, 2: 5_000, 3: 5_000})
    response = search(engine(Leg({3: 9.0}), books=books), filters={"price_max": 9_000})
    assert ids(response) == [2, 3]


def test_a_title_that_only_shares_the_number_is_not_exact() -> None:
    # without the comparison of squashed titles in `titled`
    books = catalog({1: "바다", 2: "산"})
    clash = SearchCatalog(
        reader=books.reader,
        columns=books.columns,
        core_classes={},
        title_keys=np.array([title_key("바다")] * 2, dtype=np.int64),
        titled_books=np.array([1, 2], dtype=np.int64),
    )
    response = search(engine(Leg({2: 9.0}), books=clash))
    assert [(r.book_id, r.explanation and r.explanation.exact_title) for r in response.results] == [
        (1, True), (2, False),
    ]  # fmt: skip


def test_size_cuts_after_the_exact_titles_are_put_first() -> None:
    books = catalog({1: "산", 2: "바다"})
    assert ids(search(engine(Leg({1: 9.0, 2: 1.0}), books=books), size=1)) == [2]


def test_the_encoder_sees_the_normalised_query() -> None:  # with request.query instead of `query`
    encoder = OneVector()
    search(engine(Leg({5: 9.0}), Leg({5: 0.9}), encoder=lambda: encoder), "ＡＢＣ\u3000해리포터 ②")
    assert encoder.queries == ["abc 해리포터 2"]


def test_an_explanation_names_rank_and_score_of_each_leg_that_found_the_book() -> None:
    response = search(engine(Leg({5: 9.0, 6: 8.0}), Leg({6: 0.7})))
    shown = [result.explanation.to_dict() for result in response.results if result.explanation]
    assert shown == [
        {
            "fused_score": 1 / (60 + 2) + 1 / (60 + 1),
            "legs": {
                "keyword": {"rank": 2, "score": 8.0, "contribution": 1 / (60 + 2)},
                "vector": {"rank": 1, "score": 0.7, "contribution": 1 / (60 + 1)},
            },
            "matched": [{"field": "title", "token": "바다", "contribution": 8.0}],
            "exact_title": False,
            "popularity_term": 0.0,
            "sort_value": None,
            "relevance_rank": None,
        },
        {
            "fused_score": 1 / (60 + 1),
            "legs": {"keyword": {"rank": 1, "score": 9.0, "contribution": 1 / (60 + 1)}},
            "matched": [{"field": "title", "token": "바다", "contribution": 9.0}],
            "exact_title": False,
            "popularity_term": 0.0,
            "sort_value": None,
            "relevance_rank": None,
        },
    ]


def test_without_explain_the_key_is_absent() -> None:
    response = engine(Leg({5: 9.0})).search(parse_search_request({"query": "바다"}))
    assert set(response.results[0].to_dict()) == set(SHOWN_COLUMNS)


def test_models_and_indexes_are_opened_once() -> None:  # with a `_Once.get` that keeps nothing
    opened: list[str] = []

    def open_leg(name: str, leg: Any) -> Callable[[], Any]:
        def open_it() -> Any:
            opened.append(name)
            return leg

        return open_it

    made = engine(
        open_leg("keyword", Leg({5: 9.0})),
        open_leg("vectors", Leg({5: 0.9})),
        encoder=open_leg("encoder", OneVector()),
    )
    made.preload()
    search(made)
    search(made)
    assert sorted(opened) == ["encoder", "keyword", "vectors"]


@pytest.mark.parametrize(
    ("vectors", "encoder"),
    [
        (Leg({5: 0.9}), failing(Unavailable("no model"))),
        (failing(NotFound("the version is gone")), OneVector),
    ],
)
def test_preloading_does_not_fail_when_only_the_vector_leg_is_down(
    vectors: Any, encoder: Callable[[], Any]
) -> None:
    made = engine(Leg({5: 9.0}), vectors, encoder=encoder)
    made.preload()
    assert search(made).degraded == "keyword-only"
