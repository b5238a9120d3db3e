"""The search engine's own rules, with legs whose answers are given.

Each test names the line of `runtime/search.py` or below without which it fails.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.domain.search import Field, QueryAnalysis, QueryTokens
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.domain.search.filters import BookColumns
from lifehelper_data.domain.search.messages_ko import SearchMessage, message
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.runtime.requests import parse_search_request
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.runtime.search_results import SearchResponse
from lifehelper_data.settings import SearchTunables
from lifehelper_data.stores.keyword_index import KeywordIndex, TokenMatch
from lifehelper_data.stores.releases import ReleaseReader
from lifehelper_data.stores.search_catalog import SHOWN_COLUMNS, SearchCatalog
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

Mask = npt.NDArray[np.bool_]
Scores = Mapping[int, float]
"""What a leg says: book -> score."""


class Words:
    """An analyser that splits at spaces; only words with a letter or digit count."""

    def analyse_query(self, text: str) -> QueryAnalysis:
        words = tuple(w for w in text.split() if any(mark.isalnum() for mark in w))
        return QueryAnalysis(words=words, bare=text)


class Leg:
    """An index that ranks as it is told; it notes the masks it was given."""

    def __init__(self, scores: Scores, ids: Sequence[int] | None = None) -> None:
        self.book_ids = self.item_ids = np.array(ids or sorted(scores), dtype=np.int64)
        self.scores = scores
        self.asked: list[tuple[int, list[int] | None]] = []

    def search(
        self, _query: object, k: int, mask: Mask | None = None, _weights: object = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        self.asked.append((k, None if mask is None else self.book_ids[mask].tolist()))
        allowed = set(self.book_ids.tolist() if mask is None else self.book_ids[mask].tolist())
        order = sorted((b for b in self.scores if b in allowed), key=lambda b: -self.scores[b])[:k]
        return (
            np.array(order, dtype=np.int64),
            np.array([self.scores[b] for b in order], dtype=np.float64),
        )

    def explain(
        self, book_id: int, tokens: QueryTokens, _weights: object
    ) -> tuple[TokenMatch, ...]:
        if book_id not in self.scores:
            return ()
        score = self.scores[book_id]
        return (
            TokenMatch(field=Field.TITLE, token=tokens.words[0], impact=score, contribution=score),
        )


class OneVector:
    """An encoder that notes the queries it was asked for."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.queries += texts
        return np.ones((len(texts), 1), dtype=np.float32)


class Rows:
    """The part of a release reader that the catalog uses."""

    def __init__(self, titles: Mapping[int, str]) -> None:
        self.titles = titles

    def rows(self, _query: str, ids: Sequence[int]) -> list[tuple[object, ...]]:
        values = {"author": None, "publisher": None, "price": 1, "in_stock": True}
        return [
            tuple(
                {**values, "book_id": b, "title": self.titles[b], "cover_url": None}[c]
                for c in SHOWN_COLUMNS
            )
            for b in ids
            if b in self.titles
        ]


def catalog(titles: Mapping[int, str], prices: Mapping[int, int] | None = None) -> SearchCatalog:
    """Books by id; the even ones are of class 시, the others have none."""
    ids = np.array(sorted(titles), dtype=np.int64)
    keys = sorted((title_key(title), book) for book, title in titles.items())
    known = prices or {}
    return SearchCatalog(
        reader=cast(ReleaseReader, Rows(titles)),
        columns=BookColumns(
            book_ids=ids,
            price=np.array([known.get(b, -1) for b in ids.tolist()], dtype=np.int64),
            pub_year=np.full(len(ids), -1, dtype=np.int64),
            in_stock=np.ones(len(ids), dtype=np.bool_),
            class_codes=np.where(ids % 2 == 0, 0, -1).astype(np.int64),
            classes=("시",),
        ),
        core_classes={"문학": frozenset({"시"})},
        title_keys=np.array([key for key, _ in keys], dtype=np.int64),
        titled_books=np.array([book for _, book in keys], dtype=np.int64),
    )


BOOKS = {n: f"책 {n}" for n in range(1, 10)}


@pytest.fixture(autouse=True)
def _no_analyser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifehelper_data.runtime.legs.KoreanAnalyser", Words)


def engine(
    keyword: Leg | Callable[[], Any],
    vectors: Leg | Callable[[], Any] | None = None,
    *,
    encoder: Callable[[], Any] = OneVector,
    books: SearchCatalog | None = None,
    **tunables: Any,
) -> SearchEngine:
    """An engine over these legs; a callable opens its leg or fails to."""

    def opened(leg: Leg | Callable[[], Any] | None) -> Any:
        return leg() if callable(leg) else leg

    return SearchEngine(
        release_id=3,
        catalog=books or catalog(BOOKS),
        open_keyword=lambda: cast(KeywordIndex, opened(keyword)),
        open_vectors=lambda: cast(VectorSnapshot | None, opened(vectors)),
        load_encoder=lambda: cast(Encoder, encoder()),
        tunables=SearchTunables.model_validate(tunables),
    )


def search(opened: SearchEngine, query: str = "바다", **request: object) -> SearchResponse:
    asked = parse_search_request({"query": query, **request})
    return opened.search(asked, explain=True)


def ids(response: SearchResponse) -> list[int]:
    return [result.book_id for result in response.results]


def fused_scores(response: SearchResponse) -> list[float]:
    return [result.explanation.fused_score for result in response.results if result.explanation]


def failing(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def test_both_legs_are_fused_by_reciprocal_ranks() -> None:  # without the vector leg in fuse()
    response = search(engine(Leg({5: 9.0, 6: 8.0, 7: 7.0}), Leg({7: 0.9, 5: 0.8})))
    assert list(zip(ids(response), fused_scores(response), strict=True)) == [
        (5, 1 / (60 + 1) + 1 / (60 + 2)),
        (7, 1 / (60 + 3) + 1 / (60 + 1)),
        (6, 1 / (60 + 2)),
    ]
    assert (response.degraded, response.release_id, response.next_cursor) == (None, 3, None)


def test_weights_k_and_pools_are_tunable() -> None:  # with a constant for any of them
    keyword, vectors = Leg({1: 2.0, 2: 1.0}), Leg({3: 0.9, 4: 0.8, 5: 0.7})
    opened = engine(
        keyword, vectors, keyword_weight=2, vector_weight=3, rrf_k=10, keyword_pool=1, vector_pool=2
    )
    response = search(opened)
    assert list(zip(ids(response), fused_scores(response), strict=True)) == [
        (3, 3 / (10 + 1)), (4, 3 / (10 + 2)), (1, 2 / (10 + 1)),
    ]  # fmt: skip
    assert [keyword.asked[0][0], vectors.asked[0][0]] == [1, 2]


def test_books_with_equal_scores_stand_by_id() -> None:  # without book_id in fuse()'s sort key
    assert ids(search(engine(Leg({9: 1.0}), Leg({4: 0.5})))) == [4, 9]


@pytest.mark.parametrize(
    ("vectors", "encoder"),
    [
        (Leg({2: 0.9}), failing(Unavailable("no model"))),  # without `except Unavailable`
        (failing(Unavailable("damaged")), OneVector),
        (failing(NotFound("the version is gone")), OneVector),  # with `except Unavailable` only
        (None, OneVector),  # without `snapshot is None`
        (Leg({}), OneVector),  # without `not len(snapshot.item_ids)`
    ],
    ids=["encoder", "vectors damaged", "version gone", "no vectors", "no rows"],
)
def test_without_the_vector_leg_the_answer_is_keyword_only(
    vectors: Any, encoder: Callable[[], Any]
) -> None:
    response = search(engine(Leg({5: 9.0}), vectors, encoder=encoder))
    assert (ids(response), response.degraded) == ([5], "keyword-only")


def test_no_model_is_loaded_for_a_release_without_vectors() -> None:
    response = search(engine(Leg({5: 9.0}), None, encoder=failing(AssertionError("loaded"))))
    assert response.degraded == "keyword-only"


def test_a_vector_leg_that_finds_nothing_is_not_degraded() -> None:
    # with `degraded = KEYWORD_ONLY if not vector`
    response = search(engine(Leg({5: 9.0}), Leg({2: 0.9})), filters={"price_max": 5})
    assert (ids(response), response.degraded) == ([], None)


@pytest.mark.parametrize("vectors", [Leg({2: 0.9}), None])
def test_without_the_keyword_leg_search_fails(vectors: Leg | None) -> None:
    # with `except Unavailable` around the keyword leg
    with pytest.raises(Unavailable, match="no index"):
        search(engine(failing(Unavailable("no index")), vectors))


def test_a_model_of_another_space_is_an_error_not_a_degraded_answer() -> None:
    wrong = failing(InvalidRequest("space a, space b", field="encoder.model"))
    with pytest.raises(InvalidRequest, match="space a, space b"):
        search(engine(Leg({5: 9.0}), Leg({2: 0.9}), encoder=wrong))


@pytest.mark.parametrize("query", ["?!", "…", "♥ ☆", "\u200b?"])
def test_a_query_without_a_token_finds_nothing_and_offers_the_conversation(query: str) -> None:
    # without `if not (tokens.words or tokens.bigrams)`: the vector leg answers
    response = search(engine(Leg({5: 9.0}), Leg({2: 0.9})), query)
    assert response.to_dict() == {
        "results": [],
        "next_cursor": None,
        "fallback": {"message": message(SearchMessage.NOTHING_FOUND)},
        "degraded": None,
        "release_id": 3,
    }


def test_the_fallback_is_absent_when_something_was_found() -> None:
    assert search(engine(Leg({5: 9.0}))).to_dict()["fallback"] is None


def test_books_that_the_table_has_not_are_left_out_and_the_page_stays_full() -> None:
    # without `catalog.existing`: KeyError; with the cut before it: one result
    keyword = Leg({77: 9.0, 5: 8.0, 88: 7.0, 6: 6.0})
    response = search(engine(keyword, Leg({99: 0.9, 5: 0.8})), size=2)
    assert ids(response) == [5, 6]
    filtered = search(engine(keyword, Leg({99: 0.9})), filters={"price_min": 0}, size=2)
    assert ids(filtered) == []


def test_filters_reach_both_legs_before_their_pools_are_cut() -> None:
    # with the mask of one leg replaced by None, or applied after the fusion
    cheap = {3: 5_000, 7: 5_000}
    keyword = Leg({1: 9.0, 2: 8.0, 3: 1.0}, ids=[1, 2, 3, 7])
    vectors = Leg({1: 0.9, 2: 0.8, 7: 0.1}, ids=[1, 2, 7])  # not every book has a vector
    opened = engine(keyword, vectors, books=catalog(BOOKS, cheap), keyword_pool=1, vector_pool=1)
    response = search(opened, filters={"price_max": 9_000})
    assert ids(response) == [3, 7]
    assert keyword.asked == [(1, [3, 7])]
    assert vectors.asked == [(1, [7])]


def test_a_book_that_the_table_has_not_takes_no_place_in_a_filtered_pool() -> None:
    # with `mask[rows]` alone in `_aligned`: row -1 is the last book's
    keyword = Leg({77: 9.0, 9: 1.0}, ids=[9, 77])
    opened = engine(keyword, books=catalog(BOOKS, {9: 5_000}), keyword_pool=1)
    assert ids(search(opened, filters={"price_max": 9_000})) == [9]


@pytest.mark.parametrize("category", ["시", "문학"])
def test_a_category_is_a_class_or_the_core_classes_of_an_onboarding_category(category: str) -> None:
    found = search(engine(Leg({1: 9.0, 2: 8.0, 4: 7.0})), filters={"category": category})
    assert ids(found) == [2, 4]


@pytest.mark.parametrize("query", ["바다", "?!"])
def test_an_unknown_category_is_refused_by_name(query: str) -> None:
    with pytest.raises(InvalidRequest, match=r"'요가'.*문학") as refused:
        search(engine(Leg({1: 9.0})), query, filters={"category": "요가"})
    assert refused.value.field == "filters.category"
