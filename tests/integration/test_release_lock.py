import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import WorkspaceLocked
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import WriterLock
from tests.integration.release_kit import ManualClock, python

HOLDER = """
import sys, time, pathlib
from datetime import datetime, UTC
from lifehelper_data.domain.errors import LockLost
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import WriterLock
layout = Layout(pathlib.Path(sys.argv[1]))
with WriterLock(layout, lambda: datetime.now(UTC), time.sleep, beat_every_s=0.05).hold(0) as held:
    print("held", flush=True)
    sys.stdin.readline()
    try:
        with held.fenced():
            print("published", flush=True)
    except LockLost:
        print("lost", flush=True)
"""

COUNTER = """
import sys, time, pathlib
from datetime import datetime, UTC
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import WriterLock
layout, target = Layout(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
lock = WriterLock(layout, lambda: datetime.now(UTC), lambda s: time.sleep(s / 50))
for _ in range(20):
    with lock.hold(None) as held:
        count = int(target.read_text())
        time.sleep(0.001)
        with held.fenced():
            target.write_text(str(count + 1))
"""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.create()
    return layout


def test_killed_owner_is_taken_over_at_once(layout: Layout) -> None:
    process = python(HOLDER, str(layout.root))
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    clock = ManualClock(datetime.now(UTC))
    lock = WriterLock(layout, clock, clock.advance, beat_every_s=None)
    with pytest.raises(WorkspaceLocked, match=f"process {process.pid} on "), lock.hold(0):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert layout.writer_lock.exists()
    with lock.hold(0) as held, held.fenced():
        assert held.took_over is not None
        assert held.took_over.startswith(f"process {process.pid} on ")


def test_stopped_owner_is_taken_over_when_stale_and_cannot_publish_later(layout: Layout) -> None:
    process = python(HOLDER, str(layout.root))
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGSTOP)  # alive, and not responding
    clock = ManualClock(datetime.now(UTC))
    lock = WriterLock(layout, clock, clock.advance, beat_every_s=None)
    try:
        with pytest.raises(WorkspaceLocked), lock.hold(30):
            pass
        with lock.hold(60) as held:
            mine = layout.writer_lock.read_text(encoding="utf-8")
            process.send_signal(signal.SIGCONT)
            out, _ = process.communicate("\n", timeout=30)
            assert out == "lost\n"
            assert layout.writer_lock.read_text(encoding="utf-8") == mine
            held.beat()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_owner_hands_over_and_publishes(layout: Layout) -> None:
    process = python(HOLDER, str(layout.root))
    out, _ = process.communicate("\n", timeout=30)
    assert out == "held\npublished\n"
    assert not layout.writer_lock.exists()


def test_four_processes_never_hold_it_together(layout: Layout) -> None:
    target = layout.root / "count"
    target.write_text("0")
    processes = [python(COUNTER, str(layout.root), str(target)) for _ in range(4)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert target.read_text() == "80"  # 4 processes x 20, no update lost
