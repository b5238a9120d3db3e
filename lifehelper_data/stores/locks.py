"""The one writer lock of a workspace.

`writer.lock` says who holds it; its modification time is the heartbeat. Every look at it and
every change happens inside a short exclusive `flock` on `writer.lock.guard`, so two processes can
never both take over a stale lock. Whoever publishes renames files inside `HeldLock.fenced()`: an
owner that was taken for dead and wakes up again fails there instead of publishing.
"""

import fcntl
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import LockLost, WorkspaceLocked
from lifehelper_data.domain.ports import Clock
from lifehelper_data.stores.atomic import write_json
from lifehelper_data.stores.heartbeat import Owner, modified_at, read_fields, touch
from lifehelper_data.stores.layout import Layout

BEAT_EVERY_S: Final = 5.0
STALE_AFTER: Final = timedelta(seconds=60)
POLL_EVERY_S: Final = 0.2
REPORT_EVERY_S: Final = 5.0
GUARD_PATIENCE_S: Final = 2.0
"""How long even a caller that does not wait allows others to be inside the guard."""


def _quiet(_owner: str, _waited_s: float) -> None:
    """Report nothing."""


def _quiet_takeover(_owner: str) -> None:
    """Report nothing."""


@contextmanager
def flocked(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[None]:
    """Hold an advisory lock on a file; BlockingIOError if it is taken and `wait` is false."""
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with path.open("ab") as handle:
        fcntl.flock(handle, mode if wait else mode | fcntl.LOCK_NB)
        yield  # closing the file releases the lock


class HeldLock:
    """The writer lock while it is ours.

    Attributes:
        took_over: description of the dead owner it was taken from, if it was.
    """

    def __init__(self, layout: Layout, clock: Clock, token: str, took_over: str | None) -> None:
        self.took_over = took_over
        self._file = layout.writer_lock
        self._guard = _guard_of(layout)
        self._clock = clock
        self._token = token

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """Rename or delete files while nobody can take the lock over.

        The heartbeat waits meanwhile and is renewed at the end.

        Raises:
            LockLost: somebody took it over before.
        """
        with flocked(self._guard):
            self._require_ours()
            yield
            touch(self._file, self._clock())

    def beat(self) -> None:
        """Renew the heartbeat; LockLost if the lock is not ours any more."""
        with flocked(self._guard):
            self._require_ours()
            touch(self._file, self._clock())

    def release(self) -> None:
        """Give the lock up, if it is still ours."""
        with flocked(self._guard), suppress(LockLost):
            self._require_ours()
            self._file.unlink()

    def _require_ours(self) -> None:
        fields = read_fields(self._file)
        if fields is None or fields.get("token") != self._token:
            owner = Owner.of_json((fields or {}).get("owner"))
            raise LockLost(
                f"the writer lock was taken over by {owner or 'another process'} while this "
                "process was not responding; nothing was published, run the command again"
            )


class WriterLock:
    """Lets one process of a workspace publish at a time.

    Args:
        layout: the workspace.
        clock: current time; heartbeats and staleness are measured with it.
        sleep: waits for so many seconds between two attempts.
        owner: describes the holder; this process if it is None.
        beat_every_s: interval of the heartbeat thread; None runs none (tests beat by hand).
    """

    def __init__(
        self,
        layout: Layout,
        clock: Clock,
        sleep: Callable[[float], None],
        *,
        owner: Owner | None = None,
        beat_every_s: float | None = BEAT_EVERY_S,
    ) -> None:
        self._layout = layout
        self._clock = clock
        self._sleep = sleep
        self._owner = owner
        self._beat_every_s = beat_every_s

    @contextmanager
    def hold(
        self,
        wait_s: float | None = None,
        on_wait: Callable[[str, float], None] = _quiet,
        on_take_over: Callable[[str], None] = _quiet_takeover,
    ) -> Iterator[HeldLock]:
        """Hold the lock for the length of a `with` block.

        Args:
            wait_s: seconds to wait for another owner; None waits for ever, 0 gives up at once.
            on_wait: told the owner and the seconds waited, at once and then every 5 seconds.
            on_take_over: told the owner whose stale lock was taken over.

        Raises:
            WorkspaceLocked: another process still holds it after `wait_s`.
        """
        held = self._acquire(wait_s, on_wait)
        if held.took_over is not None:
            on_take_over(held.took_over)
        stop = threading.Event()
        thread: threading.Thread | None = None
        if self._beat_every_s is not None:
            thread = threading.Thread(
                target=_keep_beating,
                args=(held, stop, self._beat_every_s),
                name="writer-lock",
                daemon=True,
            )
            thread.start()
        try:
            yield held
        finally:
            stop.set()
            if thread is not None:
                thread.join()
            held.release()

    def _acquire(self, wait_s: float | None, on_wait: Callable[[str, float], None]) -> HeldLock:
        began = self._clock()
        next_report_s = 0.0
        while True:
            outcome = self._attempt()
            if isinstance(outcome, HeldLock):
                return outcome
            waited_s = (self._clock() - began).total_seconds()
            patience_s = wait_s
            if outcome is None and wait_s is not None:
                patience_s = max(wait_s, GUARD_PATIENCE_S)
            owner = outcome or self._describe()
            if patience_s is not None and waited_s >= patience_s:
                raise WorkspaceLocked(
                    f"{str(self._layout.root)!r} is being written by {owner}; wait for it or run "
                    "again without the give-up flag. A dead owner is taken over after "
                    f"{STALE_AFTER.total_seconds():.0f} s"
                )
            if waited_s >= next_report_s:
                on_wait(owner, waited_s)
                next_report_s = waited_s + REPORT_EVERY_S
            self._sleep(POLL_EVERY_S)

    def _attempt(self) -> HeldLock | str | None:
        """Return the lock, or who holds it, or None if the guard is busy."""
        try:
            with flocked(_guard_of(self._layout), wait=False):
                now = self._clock()
                beat = modified_at(self._layout.writer_lock)
                took_over: str | None = None
                if beat is not None:
                    took_over = self._describe()
                    if not self._is_stale(beat, now):
                        return took_over
                token = uuid.uuid4().hex
                owner = self._owner or Owner.here(now)
                write_json(self._layout.writer_lock, {"token": token, "owner": asdict(owner)})
                touch(self._layout.writer_lock, now)
                return HeldLock(self._layout, self._clock, token, took_over)
        except BlockingIOError:
            return None

    def _is_stale(self, beat: datetime, now: datetime) -> bool:
        owner = self._holder()
        return (owner is not None and owner.alive is False) or now - beat >= STALE_AFTER

    def _holder(self) -> Owner | None:
        return Owner.of_json((read_fields(self._layout.writer_lock) or {}).get("owner"))

    def _describe(self) -> str:
        return str(self._holder() or "an unknown process")


def describe_holder(layout: Layout) -> str | None:
    """Return who holds the writer lock, for `doctor`; None if nobody does."""
    fields = read_fields(layout.writer_lock)
    return None if fields is None else str(Owner.of_json(fields.get("owner")) or "unknown")


def _guard_of(layout: Layout) -> Path:
    return layout.writer_lock.with_name(layout.writer_lock.name + ".guard")


def _keep_beating(held: HeldLock, stop: threading.Event, every_s: float) -> None:
    while not stop.wait(every_s):
        try:
            held.beat()
        except LockLost:
            return  # the next fenced() says so to whoever publishes
        except OSError:
            continue  # a full or missing disk: try again at the next beat
