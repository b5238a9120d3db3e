import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.text.bigrams import bigrams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("메타포 워즈", ["메타", "타포", "포워", "워즈"]),
        ("메타포워즈", ["메타", "타포", "포워", "워즈"]),
        ("메타포: 워즈!", ["메타", "타포", "포워", "워즈"]),
        ("하하하", ["하하", "하하"]),
        ("해리 ②", ["해리", "리2"]),
        ("숨", ["숨"]),
        ("?!", []),
        ("", []),
    ],
)
def test_bigrams_of_letters_and_digits(text: str, expected: list[str]) -> None:
    assert bigrams(text) == expected


def test_one_wrong_letter_spoils_two_bigrams_at_most() -> None:
    right, wrong = bigrams("메타포 워즈"), bigrams("메타표 워즈")
    assert set(right) - set(wrong) == {"타포", "포워"}


@given(st.text())
def test_every_bigram_has_one_or_two_letters_or_digits(text: str) -> None:
    found = bigrams(text)
    assert all(gram.isalnum() and len(gram) <= 2 for gram in found)
    assert all(len(gram) == 2 for gram in found) or len(found) == 1


@given(st.text(alphabet="가나다 \t,", max_size=20))
def test_spaces_and_punctuation_do_not_matter(text: str) -> None:
    assert bigrams(text) == bigrams("".join(c for c in text if c.isalnum()))
