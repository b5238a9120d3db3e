"""The habit fixtures keep the shape and the tone that the habit tools rely on."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HABITS_DIR = Path(__file__).resolve().parents[2] / "fixtures" / "habits"

ITEM_KEYS = [
    "item_id",
    "kind",
    "title",
    "category",
    "summary",
    "why",
    "default_dose",
    "tags",
    "framing_l0",
    "framing_l1",
    "framing_l2",
    "framing_l3",
]
PATTERN_KEYS = ["keyword", "suggestion", "applies_to_levels"]
FRAMING_KEYS = ["framing_l0", "framing_l1", "framing_l2", "framing_l3"]
CATEGORIES = {
    "sleep",
    "movement",
    "mind",
    "focus",
    "learning",
    "nutrition",
    "hydration",
    "relationships",
    "money",
    "digital",
    "substance",
}

MIN_PER_KIND = {"protocol": 30, "break": 14, "diet": 10}
MIN_SLEEP_ITEMS = 6
MIN_PATTERNS = 28
MAX_PATTERNS = 34
MAX_FRAMING_CHARS = 200
MAX_DOSE_CHARS = 100
MIN_TAGS, MAX_TAGS = 3, 6

# Written forms, searched as bare substrings: stricter than the morpheme matcher on purpose, so a
# suggested framing stays clear of r7_avoidance whatever analyser reads it.
AVOIDANCE_STEMS = (
    "끊",
    "않",
    "안 하",
    "안 먹",
    "안 마",
    "안 보",
    "안 사",
    "못 ",
    "못하",
    "지 말",
    "말기",
    "말자",
    "참기",
    "참는",
    "참아",
    "견디",
    "버티",
    "금지",
    "금연",
    "금주",
    "줄이",
    "줄여",
    "줄인",
    "덜 ",
    "피하",
    "피해",
    "그만",
    "멀리",
    "삼가",
    "자제",
    "절제",
    "억누",
    "억제",
    "제한",
    "중단",
    "멈추",
    "멈춘",
    "차단",
    "벗어",
    "없애",
    "없이",
    "없는",
    "버리",
    "버린",
    "포기",
    "굶",
    "거르",
    "이겨내",
)

Row = dict[str, Any]


def read_jsonl(name: str) -> list[Row]:
    """Rows of one fixture file in file order; key order is kept."""
    text = (HABITS_DIR / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


ITEMS = read_jsonl("catalog.jsonl")
PATTERNS = read_jsonl("frame_patterns.jsonl")


def is_korean_text(value: object) -> bool:
    """True for trimmed, NFC text that holds at least one Hangul syllable."""
    return (
        isinstance(value, str)
        and value == value.strip()
        and unicodedata.is_normalized("NFC", value)
        and re.search("[가-힣]", value) is not None
    )


def item_name(item: Row) -> str:
    return str(item["item_id"])


def pattern_name(pattern: Row) -> str:
    return str(pattern["keyword"])


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_item_has_the_contract_shape(item: Row) -> None:
    assert list(item) == ITEM_KEYS
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", item["item_id"])
    assert item["kind"] in MIN_PER_KIND
    assert item["category"] in CATEGORIES
    for key in ("title", "summary", "why"):
        assert is_korean_text(item[key]), key
    assert item["default_dose"] is None or is_korean_text(item["default_dose"])


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_summary_is_one_sentence_and_why_at_most_two(item: Row) -> None:
    assert len(re.findall(r"\.(?=\s|$)", item["summary"])) == 1
    assert 1 <= len(re.findall(r"\.(?=\s|$)", item["why"])) <= 2


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_tags_are_a_few_distinct_korean_words(item: Row) -> None:
    tags = item["tags"]
    assert MIN_TAGS <= len(tags) <= MAX_TAGS
    assert len(set(tags)) == len(tags)
    assert all(is_korean_text(tag) and " " not in tag for tag in tags)


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_framings_and_dose_fit_the_add_habit_limits(item: Row) -> None:
    for key in FRAMING_KEYS:
        framing = item[key]
        assert framing is None or is_korean_text(framing), key
        assert framing is None or len(framing) <= MAX_FRAMING_CHARS, key
    assert item["default_dose"] is None or len(item["default_dose"]) <= MAX_DOSE_CHARS


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_levels_that_can_be_added_are_always_suggested(item: Row) -> None:
    assert item["framing_l2"] is not None
    assert item["framing_l3"] is not None


@pytest.mark.parametrize("item", ITEMS, ids=item_name)
def test_l2_and_l3_carry_no_avoidance_wording(item: Row) -> None:
    for key in ("framing_l2", "framing_l3"):
        hits = [stem for stem in AVOIDANCE_STEMS if stem in item[key]]
        assert hits == [], f"{key}: {item[key]!r}"


def test_stem_list_catches_the_wordings_it_is_meant_for() -> None:
    for text in ("술 끊기", "야식 안 먹기", "게임 줄이기", "휴대폰 금지", "뉴스 그만 보기"):
        assert any(stem in text for stem in AVOIDANCE_STEMS), text


def test_every_break_names_the_avoidance_it_replaces() -> None:
    breaks = [item for item in ITEMS if item["kind"] == "break"]
    for item in breaks:
        bare = item["framing_l0"]
        assert bare is not None, item["item_id"]
        assert any(stem in bare for stem in AVOIDANCE_STEMS), bare


@pytest.mark.parametrize("key", ["item_id", "title", "summary", "why", "framing_l2", "framing_l3"])
def test_items_never_share_a_text(key: str) -> None:
    repeated = [value for value, n in Counter(item[key] for item in ITEMS).items() if n > 1]
    assert repeated == []


def test_each_kind_is_well_represented() -> None:
    counts = Counter(item["kind"] for item in ITEMS)
    assert counts.keys() == MIN_PER_KIND.keys()
    assert all(counts[kind] >= least for kind, least in MIN_PER_KIND.items())


def test_each_category_is_used_and_sleep_has_enough_items() -> None:
    counts = Counter(item["category"] for item in ITEMS)
    assert counts.keys() == CATEGORIES
    assert counts["sleep"] >= MIN_SLEEP_ITEMS


def test_required_items_are_present() -> None:
    by_id = {item["item_id"]: item for item in ITEMS}
    assert by_id["morning_sunlight"]["kind"] == "protocol"
    assert by_id["morning_sunlight"]["category"] == "sleep"
    assert by_id["alcohol"]["kind"] == "break"


def test_some_items_have_no_default_dose() -> None:
    assert any(item["default_dose"] is None for item in ITEMS)


@pytest.mark.parametrize("pattern", PATTERNS, ids=pattern_name)
def test_pattern_has_the_contract_shape(pattern: Row) -> None:
    assert list(pattern) == PATTERN_KEYS
    assert is_korean_text(pattern["keyword"])
    assert is_korean_text(pattern["suggestion"])
    assert pattern["applies_to_levels"] in (["L2"], ["L3"], ["L2", "L3"])


def test_patterns_are_enough_and_their_keywords_unique() -> None:
    keywords = [pattern["keyword"] for pattern in PATTERNS]
    assert MIN_PATTERNS <= len(keywords) <= MAX_PATTERNS
    assert len(set(keywords)) == len(keywords)


def test_some_patterns_are_tried_at_one_level_only() -> None:
    levels = {tuple(pattern["applies_to_levels"]) for pattern in PATTERNS}
    assert levels == {("L2",), ("L3",), ("L2", "L3")}
