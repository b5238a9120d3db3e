"""Running builds: parts they made are not deleted before they are published.

A session is `builds/sessions/<token>.json`. A builder that finds a part it needs already there
must set the part's modification time to now: gc spares what is as young as the oldest session.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lifehelper_data.domain.ports import Clock
from lifehelper_data.stores.heartbeat import Beacon, is_live, modified_at, read_fields
from lifehelper_data.stores.layout import Layout


@contextmanager
def build_session(layout: Layout, clock: Clock) -> Iterator[str]:
    """Announce a running build for the length of a `with` block; yields its token."""
    token = uuid.uuid4().hex
    _folder(layout).mkdir(parents=True, exist_ok=True)
    started_at = clock().astimezone(UTC).isoformat()
    beacon = Beacon(_folder(layout) / f"{token}.json", {"started_at": started_at}, clock)
    try:
        yield token
    finally:
        beacon.close()


def oldest_live_session_start(layout: Layout, now: datetime) -> datetime | None:
    """Return when the oldest living build began; None if none runs. Dead ones are removed."""
    starts: list[datetime] = []
    for path in sorted(_folder(layout).glob("*.json")):
        if is_live(path, now):
            started_at = _started_at(path)
            if started_at is not None:
                starts.append(started_at)
        else:
            path.unlink(missing_ok=True)
    return min(starts, default=None)


def _started_at(path: Path) -> datetime | None:
    """Return a session's start; its last heartbeat if the file does not tell; None if gone."""
    text = (read_fields(path) or {}).get("started_at")
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else modified_at(path)
    except ValueError:
        return modified_at(path)


def _folder(layout: Layout) -> Path:
    return layout.builds / "sessions"
