"""Pins: an open reader keeps its release from being deleted.

A pin is `pins/<number>.<pid>.<uuid>.json`. Opening takes the pin guard shared and gc takes it
exclusively while it looks at pins and deletes release files, so a release is either pinned before
gc looks or gone before the reader looks.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.ports import Clock
from lifehelper_data.stores.heartbeat import Beacon, is_live
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import flocked


class Pin:
    """A release that will not be deleted until `close`. Also a context manager.

    Attributes:
        number: the release.
    """

    def __init__(self, number: int, beacon: Beacon) -> None:
        self.number = number
        self._beacon = beacon

    def close(self) -> None:
        """Let the release go. Closing twice is harmless."""
        self._beacon.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def pin_guard(layout: Layout, *, shared: bool) -> Iterator[None]:
    """Hold the guard between opening readers (shared) and gc (exclusive)."""
    with flocked(layout.pins / ".guard", shared=shared):
        yield


def pin_release(layout: Layout, number: int, clock: Clock) -> Pin:
    """Pin a release.

    Raises:
        NotFound: there is no such release (any more).
    """
    layout.pins.mkdir(parents=True, exist_ok=True)
    name = f"{number}.{os.getpid()}.{uuid.uuid4().hex}.json"
    with pin_guard(layout, shared=True):
        pin = Pin(number, Beacon(layout.pins / name, {"release": number}, clock))
        if not layout.release_file(number).exists():
            pin.close()
            raise NotFound(f"release {number} does not exist; see `lifehelper release list`")
    return pin


def pinned_releases(layout: Layout, now: datetime) -> set[int]:
    """Return the releases that a living reader holds; pins of dead readers are removed."""
    pinned: set[int] = set()
    for path in sorted(layout.pins.glob("*.json")):
        number = path.name.split(".", 1)[0]
        if not number.isdecimal():
            continue
        if is_live(path, now):
            pinned.add(int(number))
        else:
            path.unlink(missing_ok=True)
    return pinned
