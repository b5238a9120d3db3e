"""Files that say "I am still here": who wrote one, whether that process lives, and its heartbeat.

The heartbeat is the file's modification time, set from the injected clock. Pins and build
sessions share one daemon thread per process.
"""

import json
import os
import socket
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Self

from lifehelper_data.domain.ports import Clock
from lifehelper_data.stores.atomic import write_json

BEAT_EVERY_S: Final = 20.0
"""How often pins and sessions are renewed."""
STALE_AFTER: Final = timedelta(seconds=120)
"""A pin or session of another machine is dead after so long without a heartbeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process.

    Attributes:
        host: its host name, for messages.
        machine: boot and process-id namespace: only where it is ours can a pid be looked up.
        pid: process id.
        started: start time in clock ticks since boot; None where the system does not tell.
        since: when it wrote the file, ISO 8601.
    """

    host: str
    machine: str
    pid: int
    started: int | None
    since: str

    @classmethod
    def here(cls, now: datetime) -> Self:
        """Describe this process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            machine=_machine(),
            pid=pid,
            started=_started(pid),
            since=now.isoformat(),
        )

    @classmethod
    def of_json(cls, value: object) -> Self | None:
        """Read an owner back; None if the value is not one."""
        if not isinstance(value, dict):
            return None
        host, machine, since = value.get("host"), value.get("machine"), value.get("since")
        pid, started = value.get("pid"), value.get("started")
        if not (isinstance(host, str) and isinstance(machine, str) and isinstance(since, str)):
            return None
        if not isinstance(pid, int) or not (started is None or isinstance(started, int)):
            return None
        return cls(host=host, machine=machine, pid=pid, started=started, since=since)

    @property
    def alive(self) -> bool | None:
        """Whether the process lives; None if that cannot be known from here."""
        if self.machine != _machine():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it exists and belongs to somebody else
        if self.started is None:
            return None
        started = _started(self.pid)
        return None if started is None else started == self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


def _machine() -> str:
    """Identify this boot and process-id namespace; the host name where /proc is missing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> int | None:
    """Return the start time of a running process; -1 for a zombie; None if unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the command may hold spaces and brackets
    return -1 if fields[0] == "Z" else int(fields[19])


def modified_at(path: Path) -> datetime | None:
    """Return a file's modification time in UTC; None if it is gone."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    except FileNotFoundError:
        return None


def touch(path: Path, now: datetime) -> None:
    """Set a file's modification time; FileNotFoundError if it is gone."""
    os.utime(path, (now.timestamp(), now.timestamp()))


def read_fields(path: Path) -> dict[str, object] | None:
    """Return the JSON object in a file; None if it is gone or is not one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def is_live(path: Path, now: datetime) -> bool:
    """Whether the owner of a beacon file lives.

    A process of this machine that is certainly there or certainly gone decides; else the
    heartbeat does.
    """
    beat = modified_at(path)
    if beat is None:
        return False
    owner = Owner.of_json((read_fields(path) or {}).get("owner"))
    alive = owner.alive if owner is not None else None
    return now - beat < STALE_AFTER if alive is None else alive


class Beacon:
    """A file that lives as long as its process keeps it up.

    Attributes:
        path: the file.
        started_at: when it was written.
    """

    def __init__(self, path: Path, fields: dict[str, object], clock: Clock) -> None:
        self.path = path
        self.started_at = clock()
        self._fields = {**fields, "owner": asdict(Owner.here(self.started_at))}
        self._clock = clock
        self._write()
        _HEART.add(self)

    def _write(self) -> None:
        write_json(self.path, self._fields)
        touch(self.path, self._clock())

    def beat(self) -> None:
        """Renew the heartbeat. A file somebody took for dead is written again."""
        try:
            touch(self.path, self._clock())
        except FileNotFoundError:
            self._write()

    def close(self) -> None:
        """Remove the file. Closing twice is harmless."""
        _HEART.remove(self)
        self.path.unlink(missing_ok=True)


class _Heart:
    """The one thread of this process that renews every open beacon; ends when there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._beacons: list[Beacon] = []
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, beacon: Beacon) -> None:
        with self._lock:
            self._beacons.append(beacon)
            if self._thread is None or not self._thread.is_alive():  # also after a fork
                self._wake = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._wake,), name="heartbeat", daemon=True
                )
                self._thread.start()

    def remove(self, beacon: Beacon) -> None:
        with self._lock:
            if beacon in self._beacons:
                self._beacons.remove(beacon)
            if not self._beacons:
                self._wake.set()
                self._thread = None

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(BEAT_EVERY_S):
            with self._lock:
                for beacon in self._beacons:
                    try:
                        beacon.beat()
                    except OSError:  # a full or missing disk: try again at the next beat
                        continue


_HEART: Final = _Heart()
