import json
import os
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.stores.heartbeat import Owner
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.pins import pin_release, pinned_releases
from lifehelper_data.stores.sessions import build_session, oldest_live_session_start
from tests.integration.release_kit import START, ManualClock

HERE = Owner.here(START)
ELSEWHERE = replace(HERE, machine="other machine")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.create()
    layout.release_file(7).touch()
    return layout


def write_pin(layout: Layout, name: str, owner: Owner, clock: ManualClock) -> Path:
    path = layout.pins / name
    path.write_text(json.dumps({"owner": asdict(owner)}), encoding="utf-8")
    os.utime(path, (clock().timestamp(), clock().timestamp()))
    return path


def test_pin_holds_until_closed(layout: Layout, clock: ManualClock) -> None:
    with pin_release(layout, 7, clock), pin_release(layout, 7, clock) as second:
        second.close()
        assert pinned_releases(layout, clock()) == {7}
    assert pinned_releases(layout, clock()) == set()
    assert list(layout.pins.glob("*.json")) == []


def test_pin_file_names_release_and_process(layout: Layout, clock: ManualClock) -> None:
    with pin_release(layout, 7, clock):
        (path,) = layout.pins.glob("*.json")
        assert path.name.split(".")[:2] == ["7", str(os.getpid())]


def test_missing_release_leaves_no_pin(layout: Layout, clock: ManualClock) -> None:
    with pytest.raises(NotFound, match="release 8"):
        pin_release(layout, 8, clock)
    assert list(layout.pins.glob("*.json")) == []


@pytest.mark.parametrize(
    ("owner", "age_s", "live"),
    [
        (replace(HERE, pid=2**22 + 1), 0, False),  # dead: the heartbeat does not matter
        (replace(HERE, started=1), 0, False),  # the pid belongs to another process now
        (HERE, 10_000, True),  # certainly there, only its heartbeat thread is starved
        (replace(HERE, started=None), 119, True),  # cannot be told apart from a reused pid
        (replace(HERE, started=None), 120, False),
        (ELSEWHERE, 119, True),
        (ELSEWHERE, 120, False),
    ],
)
def test_liveness(
    layout: Layout, clock: ManualClock, owner: Owner, age_s: float, live: bool
) -> None:
    path = write_pin(layout, "7.1.abc.json", owner, clock)
    clock.advance(age_s)
    assert pinned_releases(layout, clock()) == ({7} if live else set())
    assert path.exists() is live


def test_unreadable_pin_counts_by_its_heartbeat(layout: Layout, clock: ManualClock) -> None:
    path = layout.pins / "7.1.abc.json"
    path.write_bytes(b"\xff{")
    os.utime(path, (START.timestamp(), START.timestamp()))
    assert pinned_releases(layout, START + timedelta(seconds=119)) == {7}
    assert pinned_releases(layout, START + timedelta(seconds=120)) == set()


def test_sessions_tell_the_oldest_start(layout: Layout, clock: ManualClock) -> None:
    assert oldest_live_session_start(layout, clock()) is None
    with build_session(layout, clock):
        clock.advance(60)
        with build_session(layout, clock):
            assert oldest_live_session_start(layout, clock()) == START
    assert oldest_live_session_start(layout, clock()) is None


def test_session_of_a_dead_build_is_removed(layout: Layout, clock: ManualClock) -> None:
    with build_session(layout, clock):
        (path,) = (layout.builds / "sessions").glob("*.json")
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["owner"]["pid"] = 2**22 + 1
        path.write_text(json.dumps(fields), encoding="utf-8")
        assert oldest_live_session_start(layout, clock()) is None
        assert not path.exists()
