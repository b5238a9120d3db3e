import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.search.topk import FieldPostings, find_terms, top_k
from lifehelper_data.domain.search.vocabulary import Vocabulary

# Numbers in halves and quarters: their sums are exact, so ties are real ties.
rows = st.lists(
    st.tuples(st.integers(0, 29), st.sampled_from([-0.5, 0.25, 0.5, 1.0, 2.0])), max_size=12
)


def field(*lists: list[tuple[int, float]], weight: float = 1.0) -> FieldPostings:
    """A field in which each token has one list of (document, impact)."""
    flat = [pair for one in lists for pair in one]
    stops = np.cumsum([len(one) for one in lists], dtype=np.int64)
    return FieldPostings(
        documents=np.array([document for document, _ in flat], dtype=np.int32),
        impacts=np.array([impact for _, impact in flat], dtype=np.float64),
        starts=np.concatenate((np.zeros(1, np.int64), stops[:-1])),
        stops=stops,
        weight=weight,
    )


def best(
    fields: list[FieldPostings], k: int, n: int, mask: list[int] | None = None
) -> list[tuple[int, float]]:
    scratch = np.zeros(n)
    allowed = None
    if mask is not None:
        allowed = np.zeros(n, dtype=np.bool_)
        allowed[mask] = True
    positions, scores = top_k(fields, k, scratch=scratch, mask=allowed)
    assert not scratch.any()  # ready for the next query
    return list(zip(positions.tolist(), scores.tolist(), strict=True))


def test_impacts_of_all_tokens_and_fields_add_up() -> None:
    title = field([(0, 1.0), (2, 0.5)], [(2, 0.25)], weight=3.0)
    author = field([(0, 0.5), (1, 4.0)], weight=2.0)
    assert best([title, author], 3, 9) == [(1, 2 * 4.0), (0, 3 * 1.0 + 2 * 0.5), (2, 3 * 0.75)]


def test_equal_scores_go_to_the_lower_position() -> None:
    tied = field([(document, 1.0) for document in (1, 3, 5, 7, 9)])
    assert best([tied], 3, 100) == [(1, 1.0), (3, 1.0), (5, 1.0)]


def test_mask_is_applied_before_the_cut() -> None:
    many = field([(document, 100.0 - document) for document in range(90)])
    assert best([many], 3, 100, mask=[70, 80, 89]) == [(70, 30.0), (80, 20.0), (89, 11.0)]


def test_mask_that_lets_nothing_through_finds_nothing() -> None:
    assert best([field([(0, 1.0)])], 3, 4, mask=[]) == []


@pytest.mark.parametrize("n", [3, 1000])  # the pass over all scores, and the one over postings
def test_scores_of_zero_or_less_are_not_found(n: int) -> None:
    assert best([field([(0, 0.0), (1, -1.0), (2, 0.5)])], 3, n) == [(2, 0.5)]


def test_no_postings_find_nothing() -> None:
    assert best([], 5, 4) == []
    assert best([], 5, 0) == []


@given(
    st.lists(rows.map(lambda r: sorted(dict(r).items())), min_size=1, max_size=4),
    st.integers(1, 12),
    st.one_of(st.none(), st.sets(st.integers(0, 29)).map(sorted)),
    st.sampled_from([30, 400]),
)
@settings(max_examples=300)
def test_same_as_sorting_everything(
    lists: list[list[tuple[int, float]]], k: int, mask: list[int] | None, n: int
) -> None:
    totals: dict[int, float] = {}
    for one in lists:
        for document, impact in one:
            totals[document] = totals.get(document, 0.0) + 2.0 * impact
    allowed = set(range(n)) if mask is None else set(mask)
    ranked = sorted((-score, d) for d, score in totals.items() if score > 0 and d in allowed)
    expected = [(document, -score) for score, document in ranked[:k]]
    assert best([field(*lists, weight=2.0)], k, n, mask) == expected


@given(
    st.sets(st.text(alphabet="가나힣ab1", max_size=5)),
    st.lists(st.text(alphabet="가나힣ab1", max_size=5)),
)
def test_terms_are_found_by_their_place_in_order(terms: set[str], others: list[str]) -> None:
    ordered = sorted(term.encode() for term in terms)
    vocabulary = Vocabulary.of(ordered)
    tokens = [*sorted(terms), *others]
    expected = [ordered.index(t.encode()) if t in terms else -1 for t in tokens]
    assert find_terms(vocabulary.blob, vocabulary.offsets, tokens).tolist() == expected
