from datetime import UTC, datetime
from pathlib import Path

import pytest

from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.load_times import LoadTime, load_load_times, save_load_times

EARLY = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATE = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path)
    made.create()
    return made


def test_no_load_no_times(layout: Layout) -> None:
    assert load_load_times(layout) == {}


def test_tables_loaded_again_get_the_new_time_and_others_keep_theirs(layout: Layout) -> None:
    save_load_times(layout, EARLY, {"books": "2026-02-28T00:00:00+00:00", "onboarding": None})
    save_load_times(layout, LATE, {"books": None})
    assert load_load_times(layout) == {
        "books": LoadTime(loaded_at=LATE, watermark=None),
        "onboarding": LoadTime(loaded_at=EARLY, watermark=None),
    }


def test_watermark_is_a_time(layout: Layout) -> None:
    save_load_times(layout, LATE, {"books": EARLY.isoformat()})
    assert load_load_times(layout)["books"] == LoadTime(loaded_at=LATE, watermark=EARLY)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"books": 1}', '{"books": {}}', '{"books": {"loaded_at": "soon"}}']
)
def test_a_damaged_file_says_nothing_and_is_written_anew(layout: Layout, text: str) -> None:
    (layout.builds / "load_times.json").write_text(text)
    assert load_load_times(layout) == {}
    save_load_times(layout, LATE, {"books": None})
    assert load_load_times(layout) == {"books": LoadTime(loaded_at=LATE, watermark=None)}
