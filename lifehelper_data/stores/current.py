"""Which release is in service, and how its files get their names.

`releases/current.json` is the truth for our code and its rename is the moment of promotion.
`current.duckdb` is a byte-for-byte copy of that release's file for foreign clients; a crash between
the two is mended by `repair_current`, with which every write operation begins.

A release file cannot hold its own hash, so `releases/000042.sha256` (the format of `sha256sum`)
stands beside it. It is written before the file gets its name. While a file is being replaced
(promotion, relocation) it lists the new and the old hash, so a crash at any point leaves a file
that is listed.
"""

import filecmp
import shutil
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.stores.atomic import replace_file, write_json, write_text
from lifehelper_data.stores.heartbeat import read_fields
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import HeldLock
from lifehelper_data.stores.part_check import file_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentPointer:
    """The release in service.

    Attributes:
        number: the release.
        promoted_at: when it was put in service, ISO 8601.
        history: releases in the order they were promoted; holds `number`. What stands behind it
            was rolled back.
    """

    number: int
    promoted_at: str
    history: tuple[int, ...]

    @property
    def before(self) -> tuple[int, ...]:
        """Releases that were in service before this one, oldest first."""
        return self.history[: self.history.index(self.number)]

    def promoted(self, number: int, at: datetime) -> "CurrentPointer":
        """Put a release in service; what had been rolled back is forgotten."""
        before = self.history[: self.history.index(self.number) + 1]
        history = (*(n for n in before if n != number), number)
        return CurrentPointer(number=number, promoted_at=at.isoformat(), history=history)


def read_pointer(layout: Layout) -> CurrentPointer | None:
    """Return the release in service; None before the first promotion.

    Raises:
        Unavailable: the pointer file is damaged.
    """
    path = layout.current_pointer
    if not path.exists():
        return None
    match read_fields(path):
        case {
            "number": int(number),
            "promoted_at": str(promoted_at),
            "history": list(history),
        } if number in history and all(isinstance(n, int) for n in history):
            return CurrentPointer(number=number, promoted_at=promoted_at, history=tuple(history))
        case _:
            raise Unavailable(
                f"{str(path)!r} is damaged; remove it and run `lifehelper release promote N` "
                "with the release that was in service",
                field=path.name,
            )


def write_pointer(layout: Layout, pointer: CurrentPointer, lock: HeldLock) -> None:
    """Put a release in service: the commit point of a promotion."""
    with lock.fenced():
        write_json(layout.current_pointer, asdict(pointer))


def repair_current(layout: Layout, lock: HeldLock) -> bool:
    """Make `current.duckdb` equal the release in service; returns whether it was not."""
    pointer = read_pointer(layout)
    if pointer is None:
        return False
    source, target = layout.release_file(pointer.number), layout.current_database
    if not source.exists():
        raise Unavailable(
            f"release {pointer.number} is in service and its file is gone; copy "
            f"{str(target)!r} to {str(source)!r}, or restore it",
            field=source.name,
        )
    trim_sidecar(layout, pointer.number, lock)
    if equals_current(layout, pointer.number):
        return False
    temporary = temporary_file(layout)
    try:
        shutil.copyfile(source, temporary)
        with lock.fenced():
            # A foreign client that opened the old copy for writing may have left its log.
            target.with_name(target.name + ".wal").unlink(missing_ok=True)
            replace_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def equals_current(layout: Layout, number: int) -> bool:
    """Whether `current.duckdb` holds the bytes of a release's file."""
    source, target = layout.release_file(number), layout.current_database
    return target.exists() and filecmp.cmp(source, target, shallow=False)


def temporary_file(layout: Layout) -> Path:
    """Return a new scratch path for a release file."""
    layout.tmp.mkdir(parents=True, exist_ok=True)
    return layout.tmp / f"release-{uuid.uuid4().hex}.duckdb"


def sidecar_file(layout: Layout, number: int) -> Path:
    """Return the path of a release file's checksum."""
    return layout.release_file(number).with_suffix(".sha256")


def read_sidecar(layout: Layout, number: int) -> tuple[str, ...]:
    """Return the hashes a release file may have; empty if the checksum file is missing."""
    try:
        text = sidecar_file(layout, number).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    return tuple(line.split()[0] for line in text.splitlines() if line.strip())


def place_release_file(layout: Layout, number: int, temporary: Path, lock: HeldLock) -> None:
    """Give a finished release file its name, replacing an older form of the same release."""
    sha256 = file_sha256(temporary)
    before = [old for old in read_sidecar(layout, number) if old != sha256]
    with lock.fenced():
        exists = layout.release_file(number).exists()
        _write_sidecar(layout, number, [sha256, *before] if exists else [sha256])
        replace_file(temporary, layout.release_file(number))
        _write_sidecar(layout, number, [sha256])


def trim_sidecar(layout: Layout, number: int, lock: HeldLock) -> None:
    """Drop the hash that a crash while replacing a release file left behind."""
    listed = read_sidecar(layout, number)
    if len(listed) > 1:
        sha256 = file_sha256(layout.release_file(number))
        if sha256 in listed:
            with lock.fenced():
                _write_sidecar(layout, number, [sha256])


def _write_sidecar(layout: Layout, number: int, hashes: list[str]) -> None:
    name = layout.release_file(number).name
    write_text(sidecar_file(layout, number), "".join(f"{value}  {name}\n" for value in hashes))
