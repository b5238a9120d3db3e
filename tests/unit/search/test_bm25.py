from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from lifehelper_data.domain.search.bm25 import Bm25, DocumentTerms, Formula, build_postings
from lifehelper_data.domain.search.vocabulary import TermCollector

OKAPI = Bm25(formula=Formula.OKAPI)
LUCENE = Bm25(formula=Formula.LUCENE)

corpora = st.lists(st.lists(st.sampled_from("가나다라마바사"), max_size=8), min_size=1, max_size=12)


def collect(documents: Sequence[Sequence[str]]) -> tuple[DocumentTerms, dict[str, int]]:
    collector = TermCollector()
    for document in documents:
        collector.add(document)
    return collector.matrix(), collector.numbers


def scores(documents: Sequence[Sequence[str]], query: Sequence[str], bm25: Bm25) -> list[float]:
    matrix, numbers = collect(documents)
    postings = build_postings(matrix, len(numbers), bm25)
    total = np.zeros(len(documents))
    for token in query:
        if token in numbers:
            at = slice(*postings.offsets[numbers[token] : numbers[token] + 2])
            total[postings.documents[at]] += postings.impacts[at]
    return [float(score) for score in total]


@given(corpora.filter(any), st.lists(st.sampled_from("가나다라마바사아"), max_size=5))
def test_okapi_equals_rank_bm25_to_the_bit(documents: list[list[str]], query: list[str]) -> None:
    reference = [float(score) for score in BM25Okapi(documents).get_scores(query)]
    assert scores(documents, query, OKAPI) == reference


@given(
    corpora.filter(any),
    st.floats(0.01, 3),  # at k1 = 0, or b = 1 and an empty document, rank_bm25 divides 0 by 0
    st.floats(0, 0.99),
    st.floats(0, 1),
)
def test_okapi_equals_rank_bm25_under_other_parameters(
    documents: list[list[str]], k1: float, b: float, epsilon: float
) -> None:
    ours = scores(documents, "가나다", Bm25(formula=Formula.OKAPI, k1=k1, b=b, epsilon=epsilon))
    reference = BM25Okapi(documents, k1=k1, b=b, epsilon=epsilon).get_scores(list("가나다"))
    assert ours == pytest.approx([float(score) for score in reference], abs=1e-9)


def test_okapi_by_hand() -> None:
    documents = [["가", "나"], ["나", "다", "다"], ["라"]]
    idf = log(3 - 1 + 0.5) - log(1 + 0.5)  # 다: in one of three
    length = 1 - 0.75 + 0.75 * 3 / 2  # three words, two on average
    expected = idf * 2 * 2.5 / (2 + 1.5 * length)
    assert scores(documents, ["다"], OKAPI) == pytest.approx([0, expected, 0], abs=1e-15)


def test_lucene_by_hand_counts_only_documents_with_the_field() -> None:
    documents = [["가", "나"], ["나", "다", "다", "다"], [], []]
    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))  # 다: in one of two
    length = 1 - 0.75 + 0.75 * 4 / 3  # four words, three on average
    expected = idf * 3 / (3 + 1.5 * length)
    assert scores(documents, ["다"], LUCENE) == pytest.approx([0, expected, 0, 0], abs=1e-15)


def test_word_in_most_documents_keeps_a_quarter_of_the_mean_idf_in_okapi() -> None:
    documents = [["가"], ["가", "나"], ["가", "다"]]
    rare, common = log(2.5) - log(1.5), log(0.5) - log(3.5)
    floor = 0.25 * (common + rare + rare) / 3
    length = 1 - 0.75 + 0.75 * 1 / (5 / 3)
    assert scores(documents, ["가"], OKAPI)[0] == pytest.approx(floor * 2.5 / (1 + 1.5 * length))


def test_okapi_finds_nothing_in_a_catalog_of_two_books_and_lucene_does() -> None:
    documents = [["가"], ["나"]]
    assert scores(documents, ["가"], OKAPI) == [0.0, 0.0]
    assert scores(documents, ["가"], LUCENE)[0] == pytest.approx(log(2) / 2.5)


@given(corpora, st.sampled_from("가나다라"))
def test_lucene_scores_every_document_with_the_word_above_zero(
    documents: list[list[str]], word: str
) -> None:
    found = [score > 0 for score in scores(documents, [word], LUCENE)]
    assert found == [word in document for document in documents]


def test_postings_are_by_term_then_by_document() -> None:
    matrix, numbers = collect([["나", "가"], [], ["가"]])
    postings = build_postings(matrix, 2, LUCENE)
    assert numbers == {"나": 0, "가": 1}
    assert postings.offsets.tolist() == [0, 1, 3]
    assert postings.documents.tolist() == [0, 0, 2]


@pytest.mark.parametrize("documents", [[], [[], []]])
@pytest.mark.parametrize("bm25", [OKAPI, LUCENE])
def test_no_words_give_no_postings(documents: list[list[str]], bm25: Bm25) -> None:
    matrix, _ = collect(documents)
    postings = build_postings(matrix, 0, bm25)
    assert (postings.offsets.tolist(), len(postings.documents)) == ([0], 0)


def test_postings_of_more_terms_than_16_bits_count() -> None:
    rng = np.random.default_rng(1)
    terms = rng.permutation(200_000).astype(np.int32)
    offsets = np.arange(0, 200_001, 100, dtype=np.int64)
    matrix = DocumentTerms(offsets=offsets, terms=terms, counts=np.ones(200_000, np.int32))
    postings = build_postings(matrix, 200_000, LUCENE)
    assert postings.offsets.tolist() == list(range(200_001))
    assert (postings.documents[terms] == np.repeat(np.arange(2_000), 100)).all()
