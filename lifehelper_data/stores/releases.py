"""The releases of a workspace: list them, open one for reading, publish the next."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import duckdb
import polars as pl

from lifehelper_data.domain.errors import (
    CheckFailed,
    InvalidRequest,
    NotFound,
    Unavailable,
)
from lifehelper_data.domain.ports import Clock
from lifehelper_data.domain.release import Release, ReleaseContent, ReleaseState
from lifehelper_data.stores.current import (
    place_release_file,
    read_pointer,
    repair_current,
    temporary_file,
)
from lifehelper_data.stores.duck import connect_read_only, lock_down, quote_identifier
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import HeldLock, WriterLock
from lifehelper_data.stores.part_check import all_parts, size_problems
from lifehelper_data.stores.pins import Pin, pin_release
from lifehelper_data.stores.release_file import discard, write_release_file
from lifehelper_data.stores.release_read import read_release_and_root, unavailable_if_unreadable
from lifehelper_data.stores.tags import CURRENT, is_tag_name, read_tags

ReleaseRef = int | str
"""A release number (`42`, `"42"`), a tag, or `"current"`."""

_FILE_NAME: Final = re.compile(r"\d{6,}")


class ReleaseReader:
    """A pinned release. Nothing of it changes or disappears until `close`.

    SQL can read the release's own parts and no other file. Safe to use from several threads: each
    call runs on a cursor of its own.

    Attributes:
        number: the release.
        release: what it says about itself.
        root: folder of the workspace; paths of parts are relative to it.
        connection: the read-only DuckDB connection, locked down.
    """

    def __init__(
        self, release: Release, root: Path, connection: duckdb.DuckDBPyConnection, pin: Pin
    ) -> None:
        self.number = release.number
        self.release = release
        self.root = root
        self.connection = connection
        self._pin = pin

    def frame(self, query: str, params: Sequence[object] = ()) -> pl.DataFrame:
        """Run a query and return its rows as a frame; times are UTC."""
        with self.connection.cursor() as cursor:
            frame: pl.DataFrame = cursor.sql(query, params=list(params)).pl()
            return frame

    def rows(self, query: str, params: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Run a query and return its rows."""
        with self.connection.cursor() as cursor:
            return cursor.execute(query, list(params)).fetchall()

    def table(self, name: str) -> pl.DataFrame:
        """Return a whole table in part order.

        Raises:
            NotFound: the release has no such table.
        """
        if name not in self.release.content.tables:
            known = ", ".join(sorted(self.release.content.tables))
            raise NotFound(f"release {self.number} has no table {name!r}; it has {known}")
        return self.frame(f"SELECT * FROM {quote_identifier(name)}")

    def close(self) -> None:
        """Close the connection and unpin. Closing twice is harmless."""
        self.connection.close()
        self._pin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ReleaseStore:
    """The releases of one workspace.

    Attributes:
        layout: where they lie.
        clock: current time.
    """

    def __init__(
        self, layout: Layout, clock: Clock, sleep: Callable[[float], None] | None = None
    ) -> None:
        self.layout = layout
        self.clock = clock
        self._sleep = sleep

    def writer_lock(self, *, beat_every_s: float | None = 5.0) -> WriterLock:
        """Return the lock that every writing method wants held."""
        if self._sleep is None:
            raise InvalidRequest("this release store was opened for reading: it has no sleep")
        return WriterLock(self.layout, self.clock, self._sleep, beat_every_s=beat_every_s)

    def numbers(self) -> list[int]:
        """Return the numbers of all releases, ascending."""
        return sorted(
            int(path.stem)
            for path in self.layout.releases.glob("*.duckdb")
            if _FILE_NAME.fullmatch(path.stem)
        )

    def load(self, number: int) -> Release:
        """Return what a release says, as its file is now.

        Raises:
            NotFound: there is no such release.
            Unavailable: its file cannot be read.
            FormatVersionError: a newer package wrote it.
        """
        path = self.layout.release_file(number)
        if not path.exists():
            raise self._not_found(number)
        return read_release_and_root(path)[0]

    def list(self) -> list[Release]:
        """Return all releases, ascending."""
        return [self.load(number) for number in self.numbers()]

    def latest(self) -> Release | None:
        """Return the release with the highest number, staged or promoted; None without any."""
        numbers = self.numbers()
        return self.load(numbers[-1]) if numbers else None

    def current_number(self) -> int | None:
        """Return the release in service; None before the first promotion."""
        pointer = read_pointer(self.layout)
        return None if pointer is None else pointer.number

    def resolve(self, ref: ReleaseRef) -> int:
        """Return the number of the release that a reference means.

        Raises:
            NotFound: nothing is called that.
            InvalidRequest: nothing could be called that.
        """
        if isinstance(ref, str) and ref == CURRENT:
            current = self.current_number()
            if current is None:
                raise self._not_found(CURRENT)
            return current
        if isinstance(ref, str) and is_tag_name(ref):
            tagged = read_tags(self.layout).get(ref)
            if tagged is None:
                raise self._not_found(ref)
            ref = tagged
        text = str(ref)
        if isinstance(ref, bool) or not (text.isascii() and text.isdecimal()) or int(text) < 1:
            raise InvalidRequest(
                f"release {ref!r} is neither a number from 1, nor a tag, nor 'current'",
                field="release",
            )
        number = int(text)
        if not self.layout.release_file(number).exists():
            raise self._not_found(number)
        return number

    def open(self, ref: ReleaseRef = CURRENT) -> ReleaseReader:
        """Open and pin a release for reading.

        Raises:
            NotFound, InvalidRequest: as `resolve`.
            Unavailable: the file cannot be read, or the workspace was moved.
        """
        pin = self._pinned(ref)
        number = pin.number
        path = self.layout.release_file(number)
        try:
            release, root = read_release_and_root(path)
            if root.resolve() != self.layout.root.resolve():
                raise Unavailable(
                    f"release {number} still points into {str(root)!r} and the workspace is "
                    f"{str(self.layout.root)!r}; run `lifehelper release relocate`"
                )
            with unavailable_if_unreadable(path):
                connection = connect_read_only(path)
                lock_down(
                    connection,
                    readable=(root / part.path for part in all_parts(release.content)),
                    temporary=self.layout.tmp,
                )
        except BaseException:
            pin.close()
            raise
        return ReleaseReader(release, root, connection, pin)

    def _pinned(self, ref: ReleaseRef) -> Pin:
        """Pin what a reference means; it may mean another release before the pin is there."""
        while True:
            number = self.resolve(ref)
            try:
                return pin_release(self.layout, number, self.clock)
            except NotFound:
                if self.resolve(ref) == number:
                    raise

    def publish(self, content: ReleaseContent, lock: HeldLock) -> Release:
        """Publish a new release, staged.

        Args:
            content: what it holds; every part lies at its path already.
            lock: the writer lock, held.

        Raises:
            CheckFailed: a part is missing or of another size than recorded.
            LockLost: the lock was taken over; nothing was published.
        """
        with suppress(Unavailable):  # a lost current release must not keep a new one out
            repair_current(self.layout, lock)
        problems = list(size_problems(self.layout.root, content))
        if problems:
            raise CheckFailed(
                f"not published: {len(problems)} parts are not as built, first {problems[0]}; "
                "run `lifehelper build` again",
                field=problems[0].path,
            )
        release = Release(
            number=self._next_number(),
            state=ReleaseState.STAGED,
            created_at=self.clock(),
            promoted_at=None,
            content=content,
        )
        temporary = temporary_file(self.layout)
        try:
            write_release_file(temporary, release, self.layout.root)
            place_release_file(self.layout, release.number, temporary, lock)
        finally:
            discard(temporary)
        return release

    def _next_number(self) -> int:
        pointer = read_pointer(self.layout)
        used = [*self.numbers(), *read_tags(self.layout).values()]
        used.extend(pointer.history if pointer is not None else ())
        return 1 + max(used, default=0)

    def _not_found(self, ref: ReleaseRef) -> NotFound:
        numbers, tags = self.numbers(), read_tags(self.layout)
        if not numbers:
            hint = "nothing has been published here; run `lifehelper build`"
        elif ref == CURRENT:
            hint = "no release is in service yet; run `lifehelper release promote N`"
        else:
            hint = f"release {ref!r} does not exist"
        listed = ", ".join(str(number) for number in numbers[-20:]) or "none"
        named = "".join(f", {name} ({number})" for name, number in tags.items())
        return NotFound(f"{hint}; releases: {listed}{named}", field="release")
