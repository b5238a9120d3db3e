import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.text.normalize import has_letter_or_digit, normalize, squash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("해리포터 ②", "해리포터 2"),
        ("ＡＢＣ", "abc"),
        ("\t해리\u00a0포터\u3000\n2 ", "해리 포터 2"),
        ("해리\u200b포\ufeff터", "해리포터"),  # no room: no space
        ("해리\u3164포터", "해리 포터"),  # a Hangul filler is typed as a blank
        ("\u1112\u1162\u1105\u1175", "해리"),  # decomposed jamo, as some file systems write them
        ("STRASSE straße", "strasse strasse"),
        ("㈜북적북적", "(주)북적북적"),
        ("", ""),
        (" \u200b\u3000", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert normalize(text) == expected


def test_squash_removes_every_space_and_keeps_punctuation() -> None:
    assert squash(" 메타포,\u3000워즈 ② ") == "메타포,워즈2"


def test_squash_composes_what_removing_spaces_brings_together() -> None:
    assert squash("e \u0301") == "\u00e9"


@given(st.text())
def test_normalize_twice_is_normalize_once(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.text())
def test_squash_twice_is_squash_once_and_ignores_normalisation(text: str) -> None:
    assert squash(squash(text)) == squash(text) == squash(normalize(text))


@given(st.text())
def test_spaces_are_single_and_inside(text: str) -> None:
    normal = normalize(text)
    assert normal == " ".join(normal.split())
    assert " " not in squash(text)


@pytest.mark.parametrize(
    ("token", "expected"), [("c++", True), ("3", True), ("漢", True), ("++", False), ("", False)]
)
def test_token_needs_a_letter_or_digit(token: str, expected: bool) -> None:
    assert has_letter_or_digit(token) is expected
