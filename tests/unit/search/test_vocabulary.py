import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.search.vocabulary import TermCollector, Vocabulary, merge_vocabularies

terms = st.text(alphabet="가나힣ab1", min_size=1, max_size=3)


def listed(vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.term(number).decode() for number in range(len(vocabulary))]


def test_merging_keeps_used_and_new_terms_in_order() -> None:
    old = Vocabulary.of([b"a", b"c", b"e"])
    merged, old_numbers, new_numbers = merge_vocabularies(
        old, np.array([True, False, True]), ["f", "d", "a"]
    )
    assert listed(merged) == ["a", "d", "e", "f"]
    assert old_numbers[[0, 2]].tolist() == [0, 2]
    assert new_numbers.tolist() == [3, 1, 0]


def test_unused_term_that_comes_again_is_kept() -> None:
    old = Vocabulary.of([b"a", b"b"])
    merged, _, new_numbers = merge_vocabularies(old, np.array([False, False]), ["b"])
    assert (listed(merged), new_numbers.tolist()) == (["b"], [0])


@given(st.dictionaries(terms, st.booleans()), st.lists(terms, unique=True))
def test_merging_is_the_sorted_union(old_terms: dict[str, bool], new: list[str]) -> None:
    ordered = sorted(old_terms)
    used = np.array([old_terms[term] for term in ordered], dtype=np.bool_)
    old = Vocabulary.of(term.encode() for term in ordered)
    merged, old_numbers, new_numbers = merge_vocabularies(old, used, new)
    union = sorted({term for term, in_use in old_terms.items() if in_use} | set(new))
    assert listed(merged) == union
    for number, term in enumerate(ordered):
        if term in union:
            assert union[old_numbers[number]] == term
    assert [union[number] for number in new_numbers] == new


def test_collector_counts_tokens_in_order_of_first_occurrence() -> None:
    collector = TermCollector()
    for tokens in (["나", "가", "나"], [], ["가"]):
        collector.add(tokens)
    matrix = collector.matrix()
    assert collector.numbers == {"나": 0, "가": 1}
    assert matrix.offsets.tolist() == [0, 2, 2, 3]
    assert matrix.terms.tolist() == [0, 1, 1]
    assert matrix.counts.tolist() == [2, 1, 1]
