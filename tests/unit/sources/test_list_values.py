import pytest

from lifehelper_data.domain.contract import Column, Kind
from lifehelper_data.domain.ids import text_id
from tests.unit.sources.cast_kit import OFFSETS_ONLY, TEXT_IDS, column, of_kind, outcome

FLOAT32_MAX = "3.4028234663852886e38"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["힐링", "밤"]', ["힐링", "밤"]),
        ("[]", []),
        ("null", None),
        ('[" a ", "\u1100\u1161"]', ["a", "가"]),
        ('["a", "b", " a"]', ["a", "b"]),
        ('["", " ", "a"]', ["a"]),
        ("힐링", "<not_a_list>"),
        ("힐링,밤", "<not_a_list>"),
        ('"힐링"', "<not_a_list>"),
        ('{"a": 1}', "<not_a_list>"),
        ("7", "<not_a_list>"),
        ("[a]", "<not_a_list>"),
        ("['a']", "<not_a_list>"),
        ('["a"', "<not_a_list>"),
        ("[" * 5_000, "<not_a_list>"),
        ("[" + "9" * 5_000 + "]", "<not_a_list>"),
        ("[1]", "<not_text>"),
        ("[null]", "<not_text>"),
        ('["a", ["b"]]', "<not_text>"),
        ('["a\\u0000"]', "<nul_character>"),
        ('["\\ud800"]', "<broken_encoding>"),
        ('["\\ud83d\\ude00"]', ["😀"]),
        ("[NaN]", "<not_a_number>"),
    ],
)
def test_text_list(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.TEXT_LIST), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2]", [1, 2]),
        ('["1", " +2 ", "-3"]', [1, 2, -3]),
        ("[2.0, 1e2]", [2, 100]),
        ("[1, 1, 2]", [1, 2]),
        ("[9223372036854775807, -9223372036854775808]", [2**63 - 1, -(2**63)]),
        ("[9223372036854775808]", "<out_of_range>"),
        ('["9223372036854775808"]', "<out_of_range>"),
        ("[-9223372036854775809]", "<out_of_range>"),
        ("[1e300]", "<out_of_range>"),
        ("[" + "9" * 400 + "]", "<out_of_range>"),
        ("[1.5]", "<not_an_integer>"),
        ("[true]", "<not_an_integer>"),
        ("[null]", "<not_an_integer>"),
        ('["1.0"]', "<not_an_integer>"),
        ('["x"]', "<not_an_integer>"),
        ('[""]', "<not_an_integer>"),
        ('["+-5"]', "<not_an_integer>"),
        ('["--5"]', "<not_an_integer>"),
        ('["+"]', "<not_an_integer>"),
        ('["５"]', "<not_an_integer>"),
        ("[1e999]", "<not_an_integer>"),
    ],
)
def test_int_list(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.INT_LIST), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0.5, 1, -2]", [0.5, 1.0, -2.0]),
        ("[1, 1]", [1.0, 1.0]),  # a vector keeps equal components
        ("[]", []),
        (f"[{FLOAT32_MAX}]", [float(FLOAT32_MAX)]),
        ("[3.5e38]", "<out_of_range>"),  # infinite as a float32
        ("[-1e300]", "<out_of_range>"),
        ("[" + "9" * 400 + "]", "<out_of_range>"),
        ("[1e999]", "<not_a_number>"),
        ("[NaN]", "<not_a_number>"),
        ("[Infinity]", "<not_a_number>"),
        ("[true]", "<not_a_number>"),
        ('["0.5"]', "<not_a_number>"),
        ("[null]", "<not_a_number>"),
        ("[[0.5]]", "<not_a_number>"),
    ],
)
def test_vector(text: str, expected: object) -> None:
    assert outcome(of_kind(Kind.FLOAT_LIST), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["L0", "L3"]', ["L0", "L3"]),
        ('["L0", "L4"]', "<not_allowed>"),
        ('["l0"]', "<not_allowed>"),
        (None, "<missing>"),
    ],
)
def test_list_of_choices(text: str | None, expected: object) -> None:
    assert outcome(column("frame_patterns", "applies_to_levels"), text) == expected


@pytest.mark.parametrize(
    ("name", "most"), [("categories", 3), ("tags", 9), ("reading_times", 5), ("criteria", 3)]
)
def test_longest_onboarding_lists(name: str, most: int) -> None:
    items = [f'"{n}"' for n in range(most + 1)]
    longest = ",".join(items[:most])
    assert outcome(column("onboarding", name), f"[{longest}]") == [str(n) for n in range(most)]
    assert outcome(column("onboarding", name), f"[{longest},{items[0]}]") == [
        str(n) for n in range(most)
    ]  # repeated items do not count
    assert outcome(column("onboarding", name), f"[{','.join(items)}]") == "<too_many_items>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", " a ", ""]', [text_id("a")]),
        ("[7]", [text_id("7")]),
        ("[true]", "<not_text>"),
        ("[1.5]", "<not_text>"),
        ("[null]", "<not_text>"),
    ],
)
def test_list_of_text_ids(text: str, expected: object) -> None:
    assert outcome(column("onboarding", "liked_book_ids"), text, TEXT_IDS) == expected


def test_numbers_stay_numbers_where_ids_are_numbers() -> None:
    liked = column("onboarding", "liked_book_ids")
    assert outcome(liked, "[7]", OFFSETS_ONLY) == [7]


def test_required_list_may_be_empty_but_not_absent() -> None:
    required = Column(name="x", kind=Kind.TEXT_LIST, meaning="", nullable=False)
    assert outcome(required, "[]") == []
    assert outcome(required, " ") == "<missing>"
    assert outcome(required, "null") == "<missing>"
