import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from lifehelper_data.models.charsmap import compiled_charsmap


def normalised(character_map: dict[str, str], text: str) -> str:
    return normalizers.Precompiled(compiled_charsmap(character_map)).normalize_str(text)


def test_mapped_characters_are_replaced_and_others_kept() -> None:
    character_map = {"②": "2", "Ａ": "A", "㈜": "(주)", "\t": " ", "\u200b": ""}
    assert normalised(character_map, "㈜ 해리\t포터② Ａ책\u200b③") == "(주) 해리 포터2 A책③"


def test_empty_map_changes_nothing() -> None:
    assert normalised({}, "해리포터 ②") == "해리포터 ②"


def test_key_of_two_characters_is_refused() -> None:
    with pytest.raises(ValueError, match="not a single character"):
        compiled_charsmap({"a": "x", "ab": "y"})


# one character at a time: the tokenizer looks up clusters of characters by their first one
_CHARACTERS = st.characters(min_codepoint=1, exclude_categories=["Cs"])


@given(st.dictionaries(_CHARACTERS, st.text(_CHARACTERS, max_size=4), max_size=300), _CHARACTERS)
def test_every_character_of_any_map_finds_its_own_replacement(
    character_map: dict[str, str], other: str
) -> None:
    normalizer = normalizers.Precompiled(compiled_charsmap(character_map))
    for character, replacement in character_map.items():
        assert normalizer.normalize_str(character) == replacement
    assert normalizer.normalize_str(other) == character_map.get(other, other)
