import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import LockLost, WorkspaceLocked
from lifehelper_data.stores.heartbeat import Owner
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import WriterLock, describe_holder, flocked
from tests.integration.release_kit import START, ManualClock

ELSEWHERE = Owner(host="db2", machine="other", pid=77, started=1, since=START.isoformat())


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.create()
    return layout


Make = Callable[..., WriterLock]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def make(layout: Layout, clock: ManualClock) -> Make:
    def lock(owner: Owner | None = None) -> WriterLock:
        return WriterLock(layout, clock, clock.advance, owner=owner, beat_every_s=None)

    return lock


def test_lock_is_free_after_the_block(make: Make, layout: Layout) -> None:
    with make().hold(0) as held:
        assert held.took_over is None
        assert describe_holder(layout) == (
            f"process {os.getpid()} on {Owner.here(START).host} (since {START.isoformat()})"
        )
    assert describe_holder(layout) is None
    assert not layout.writer_lock.exists()


def test_lock_is_released_when_the_block_fails(make: Make, layout: Layout) -> None:
    with pytest.raises(KeyError), make().hold(0):
        raise KeyError
    assert not layout.writer_lock.exists()


def test_second_caller_gives_up_at_once_naming_the_owner(make: Make, clock: ManualClock) -> None:
    with (
        make(ELSEWHERE).hold(0),
        pytest.raises(WorkspaceLocked, match=r"process 77 on db2 \(since 2026-03-01T09:00:00"),
        make().hold(0),
    ):
        pass
    assert clock.now == START  # it did not wait


def test_waiting_is_reported_and_ends_after_wait_s(make: Make, clock: ManualClock) -> None:
    waits: list[tuple[str, float]] = []
    with (
        make(ELSEWHERE).hold(0),
        pytest.raises(WorkspaceLocked),
        make().hold(12, lambda owner, waited_s: waits.append((owner.split(" (")[0], waited_s))),
    ):
        pass
    assert (clock.now - START).total_seconds() == pytest.approx(12, abs=0.2)
    assert [owner for owner, _ in waits] == ["process 77 on db2"] * 3
    assert [waited for _, waited in waits] == pytest.approx([0, 5, 10], abs=0.5)


def test_waiter_gets_the_lock_when_it_is_released(make: Make, layout: Layout) -> None:
    first = make(ELSEWHERE).hold(0)
    first.__enter__()
    released: list[float] = []

    def on_wait(_owner: str, waited_s: float) -> None:
        released.append(waited_s)
        first.__exit__(None, None, None)

    with make().hold(None, on_wait) as held, held.fenced():
        assert released == [0.0]
        assert held.took_over is None


def test_old_heartbeat_is_taken_over_and_the_old_owner_is_fenced(
    make: Make, clock: ManualClock, layout: Layout
) -> None:
    taken: list[str] = []
    with make(ELSEWHERE).hold(0) as old:
        clock.advance(60)
        with make().hold(0, on_take_over=taken.append) as new:
            assert taken == [f"process 77 on db2 (since {START.isoformat()})"]
            with pytest.raises(LockLost, match="taken over by process"), old.fenced():
                pytest.fail("the old owner got past the fence")
            before = layout.writer_lock.stat().st_mtime
            clock.advance(1)
            with pytest.raises(LockLost):
                old.beat()
            assert layout.writer_lock.stat().st_mtime == before  # it renewed nothing
            old.release()
            with new.fenced():
                assert layout.writer_lock.exists()  # and released nothing
    assert not layout.writer_lock.exists()


def test_owner_without_a_file_cannot_bring_the_lock_back(make: Make, layout: Layout) -> None:
    with make().hold(0) as held:
        layout.writer_lock.unlink()
        with pytest.raises(LockLost):
            held.beat()
        assert not layout.writer_lock.exists()


def test_heartbeat_keeps_the_lock(make: Make, clock: ManualClock) -> None:
    with make(ELSEWHERE).hold(0) as old:
        for _ in range(4):
            clock.advance(30)
            old.beat()
        clock.advance(59)
        with pytest.raises(WorkspaceLocked), make().hold(0):
            pass


def test_work_inside_the_fence_counts_as_a_heartbeat(make: Make, clock: ManualClock) -> None:
    with make(ELSEWHERE).hold(0) as old:
        with old.fenced():
            clock.advance(300)
        with pytest.raises(WorkspaceLocked), make().hold(0):
            pass


@pytest.mark.parametrize("change", [{"pid": 2**22 + 1}, {"started": 12345}])
def test_dead_owner_or_reused_pid_of_this_machine_is_taken_over_at_once(
    make: Make, change: dict[str, int], clock: ManualClock
) -> None:
    dead = replace(Owner.here(START), **change)  # type: ignore[arg-type] # ints for int fields
    with make(dead).hold(0), make().hold(0) as held:
        assert held.took_over == str(dead)
    assert clock.now == START


def test_living_owner_of_this_machine_is_respected(make: Make, clock: ManualClock) -> None:
    with make().hold(0):
        clock.advance(59)
        with pytest.raises(WorkspaceLocked, match=f"process {os.getpid()}"), make().hold(0):
            pass


def test_unreadable_lock_is_respected_until_it_is_stale(
    make: Make, clock: ManualClock, layout: Layout
) -> None:
    layout.writer_lock.write_text("{", encoding="utf-8")
    os.utime(layout.writer_lock, (START.timestamp(), START.timestamp()))
    clock.advance(59)
    with pytest.raises(WorkspaceLocked, match="an unknown process"), make().hold(0):
        pass
    clock.advance(1)
    with make().hold(0) as held:
        assert held.took_over == "an unknown process"


def test_busy_guard_is_waited_for_a_little_even_without_waiting(
    make: Make, clock: ManualClock, layout: Layout
) -> None:
    guard = layout.root / "writer.lock.guard"
    with flocked(guard), pytest.raises(WorkspaceLocked), make().hold(0):
        pass
    assert timedelta(seconds=2) <= clock.now - START < timedelta(seconds=3)


def test_heartbeat_thread_renews(layout: Layout, clock: ManualClock) -> None:
    lock = WriterLock(layout, clock, clock.advance, beat_every_s=0.005)
    with lock.hold(0):
        clock.advance(50)
        deadline = os.times().elapsed + 5
        while layout.writer_lock.stat().st_mtime < clock.now.timestamp():
            assert os.times().elapsed < deadline, "no heartbeat within 5 s"
