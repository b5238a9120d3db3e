from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.stores.current import CurrentPointer, read_pointer
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import WriterLock
from lifehelper_data.stores.tags import is_tag_name, read_tags, tag_release, untag_release
from tests.integration.release_kit import START, ManualClock


def pointer(number: int, *history: int) -> CurrentPointer:
    return CurrentPointer(number=number, promoted_at=START.isoformat(), history=history)


@pytest.mark.parametrize(
    ("before", "promoted", "history"),
    [
        (pointer(1, 1), 2, (1, 2)),
        (pointer(3, 1, 2, 3), 1, (2, 3, 1)),  # promoted again: it comes last
        (pointer(2, 1, 2, 3), 4, (1, 2, 4)),  # 3 was rolled back and is forgotten
        (pointer(2, 1, 2, 3), 3, (1, 2, 3)),
    ],
)
def test_history_after_promotion(
    before: CurrentPointer, promoted: int, history: tuple[int, ...]
) -> None:
    after = before.promoted(promoted, START + timedelta(hours=1))
    assert (after.number, after.history) == (promoted, history)
    assert after.promoted_at == "2026-03-01T10:00:00+00:00"
    assert after.before == history[:-1]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.create()
    for number in (1, 2):
        layout.release_file(number).touch()
    return layout


@pytest.fixture
def lock(layout: Layout) -> WriterLock:
    clock = ManualClock()
    return WriterLock(layout, clock, clock.advance, beat_every_s=None)


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"number": 1, "promoted_at": "x", "history": [2]}']
)
def test_damaged_pointer_is_said_to_be_damaged(layout: Layout, text: str) -> None:
    assert read_pointer(layout) is None
    layout.current_pointer.write_text(text, encoding="utf-8")
    with pytest.raises(Unavailable, match=r"current\.json"):
        read_pointer(layout)


@pytest.mark.parametrize("name", ["a", "0-a", "v1.2_x", "a" * 64])
def test_good_tag_names(name: str) -> None:
    assert is_tag_name(name)


@pytest.mark.parametrize(
    "name", ["", "current", "7", "007", "-a", ".a", "A", "a b", "책", "a/b", "a" * 65, "a\n"]
)
def test_bad_tag_names(layout: Layout, lock: WriterLock, name: str) -> None:
    with lock.hold(0) as held, pytest.raises(InvalidRequest, match="tag"):
        tag_release(layout, 1, name, held)
    assert not layout.tags_file.exists()


def test_tag_moves_only_by_force(layout: Layout, lock: WriterLock) -> None:
    with lock.hold(0) as held:
        tag_release(layout, 1, "stable", held)
        tag_release(layout, 1, "stable", held)  # the same again is nothing new
        with pytest.raises(InvalidRequest, match="'stable' names release 1"):
            tag_release(layout, 2, "stable", held)
        assert read_tags(layout) == {"stable": 1}
        tag_release(layout, 2, "stable", held, force=True)
        tag_release(layout, 1, "a", held)
        assert list(read_tags(layout).items()) == [("a", 1), ("stable", 2)]
        assert untag_release(layout, "stable", held) == 2
        assert read_tags(layout) == {"a": 1}
        with pytest.raises(NotFound, match="'stable'; tags: a"):
            untag_release(layout, "stable", held)


def test_tag_of_a_missing_release_is_refused(layout: Layout, lock: WriterLock) -> None:
    with lock.hold(0) as held, pytest.raises(NotFound, match="release 3"):
        tag_release(layout, 3, "x", held)


def test_damaged_tags_are_not_taken_for_no_tags(layout: Layout) -> None:
    layout.tags_file.write_text('{"a": "x"}', encoding="utf-8")
    with pytest.raises(Unavailable, match=r"tags\.json"):
        read_tags(layout)
