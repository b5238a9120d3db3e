"""A workspace, opened on one pinned release: what every reader of the platform holds."""

import html
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.ports import Clock
from lifehelper_data.domain.release import Release
from lifehelper_data.settings import Settings, load_settings
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.measures import null_counts, rows_per_user
from lifehelper_data.stores.query import QueryResult, run_query
from lifehelper_data.stores.releases import ReleaseReader, ReleaseRef, ReleaseStore
from lifehelper_data.stores.secrets import cursor_key

if TYPE_CHECKING:
    from lifehelper_data.runtime.habit_search import HabitSearch, HabitSearchResponse
    from lifehelper_data.runtime.paging import Pager
    from lifehelper_data.runtime.requests import HabitSearchRequest, SearchRequest
    from lifehelper_data.runtime.search import SearchEngine
    from lifehelper_data.runtime.search_results import SearchResponse


def utc_now() -> datetime:
    """Return the current time: the one place outside tests that looks at the wall clock."""
    return datetime.now(UTC)


class Workspace:
    """One pinned release of a workspace.

    Open with `Workspace.open(path)`, close when done (or use it as a context manager). Nothing of
    what it shows changes while it is open, whatever is built or promoted meanwhile.
    """

    def __init__(
        self,
        layout: Layout,
        reader: ReleaseReader,
        settings: Settings | None = None,
        *,
        clock: Clock = utc_now,
    ) -> None:
        self._layout = layout
        self._reader = reader
        self._chosen = settings is not None
        self._settings = settings or release_settings(reader.release)
        self._clock = clock
        self._engine: SearchEngine | None = None
        self._pager: Pager | None = None
        self._habits: HabitSearch | None = None

    @classmethod
    def open(
        cls,
        path: str | Path,
        release: ReleaseRef = "current",
        *,
        settings: Settings | None = None,
        clock: Clock = utc_now,
    ) -> "Workspace":
        """Open a workspace on a release.

        Args:
            path: the workspace folder.
            release: "current", a number, or a tag.
            settings: weights and pools to try; None takes those the release was built with.
            clock: the current time, UTC.

        Raises:
            NotFound: no workspace there, or no such release.
            InvalidRequest: `release` could not be a release.
            Unavailable: the release cannot be read.
        """
        store = open_store(path, clock=clock)
        return cls(store.layout, store.open(release), settings, clock=clock)

    @property
    def release(self) -> Release:
        """The pinned release."""
        return self._reader.release

    @property
    def path(self) -> Path:
        """The workspace folder."""
        return self._layout.root

    @property
    def facts(self) -> Mapping[str, object]:
        """The release's facts by name."""
        return self.release.content.facts

    @property
    def tables(self) -> Mapping[str, int]:
        """Rows by table name."""
        return {name: table.rows for name, table in self.release.content.tables.items()}

    def table(self, name: str) -> pl.DataFrame:
        """Return a whole table, ordered as it is stored.

        Raises:
            NotFound: the release has no such table.
        """
        return self._reader.table(name)

    def dictionary(self) -> pl.DataFrame:
        """Return the data dictionary: table, column, type, nullable, meaning."""
        return self._reader.frame("SELECT * FROM data_dictionary")

    def rows_per_user(self, table: str) -> pl.DataFrame:
        """Return user_id, rows of a table that has users; memory does not grow with its rows."""
        return rows_per_user(self._reader, table)

    def null_counts(self, table: str) -> dict[str, int]:
        """Return the number of nulls of every nullable column of a table."""
        return null_counts(self._reader, table)

    def sql(self, query: str) -> QueryResult:
        """Run one read-only query on the release.

        Raises:
            InvalidRequest: not one SELECT, or DuckDB refuses it; the message says why.
        """
        return run_query(self._reader, query)

    def search(
        self, request: "SearchRequest | Mapping[str, object]", *, explain: bool = False
    ) -> "SearchResponse":
        """Search the pinned release.

        Args:
            request: `{query, filters?, sort?, size?, cursor?}`; see `lifehelper schema search`. A
                cursor is answered from the release of its first page, pinned while this is open.
            explain: add to each result the rank and score per leg and the matched tokens.

        Raises:
            InvalidRequest: names the field.
            CursorExpired: the cursor is too old, not ours, of another request, or its release is
                gone.
            Unavailable: the release has no keyword index, or it cannot be read.
        """
        from lifehelper_data.runtime.requests import parse_search_request

        return self._pages().search(parse_search_request(request), explain=explain)

    def search_habits(
        self, request: "HabitSearchRequest | Mapping[str, object]"
    ) -> "HabitSearchResponse":
        """Search the habit catalog of the pinned release, by the engine that searches books.

        Args:
            request: `{query?, category?, kind?, limit?}`.

        Raises:
            InvalidRequest: names the field.
            Unavailable: a query is given and the release has no keyword index.
        """
        from lifehelper_data.runtime.open_search import open_habit_search
        from lifehelper_data.runtime.requests import parse_habit_search

        if self._habits is None:
            self._habits = open_habit_search(
                self._layout, self._reader, self._settings, self.search_engine().language
            )
        return self._habits.search(parse_habit_search(request))

    def search_engine(self) -> "SearchEngine":
        """Return the engine behind `search`, opened once."""
        from lifehelper_data.runtime.open_search import open_search

        if self._engine is None:
            self._engine = open_search(self._layout, self._reader, self._settings)
        return self._engine

    def _pages(self) -> "Pager":
        from lifehelper_data.runtime.paging import Pager

        if self._pager is None:
            self._pager = Pager(
                engine=self.search_engine(),
                open_engine=self._open_engine,
                secret=self._cursor_secret(),
                clock=self._clock,
            )
        return self._pager

    def _open_engine(self, number: int) -> "tuple[ReleaseReader, SearchEngine]":
        from lifehelper_data.runtime.open_search import open_search

        reader = ReleaseStore(self._layout, self._clock).open(number)
        try:
            settings = self._settings if self._chosen else release_settings(reader.release)
            return reader, open_search(self._layout, reader, settings)
        except BaseException:
            reader.close()
            raise

    def _cursor_secret(self) -> bytes:
        configured = load_settings(self._layout.config_file, os.environ).cursor.secret
        if configured is not None:
            return configured.get_secret_value().encode()
        return cursor_key(self._layout)

    def close(self) -> None:
        """Unpin the release. Closing twice is harmless."""
        if self._pager is not None:
            self._pager.close()
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.path)!r}, release={self.release.number})"

    def _repr_html_(self) -> str:
        release = self.release
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{count:,}</td></tr>"
            for name, count in self.tables.items()
        )
        return (
            f"<b>Release {release.number}</b> ({release.state}, "
            f"{release.created_at:%Y-%m-%d %H:%M} UTC) of {html.escape(str(self.path))}"
            f"<table><tr><th>table</th><th>rows</th></tr>{rows}</table>"
        )


def release_settings(release: Release) -> Settings:
    """Return the settings whose tunables a release was built with."""
    tunables = release.content.facts.get("tunables")
    return Settings.model_validate(tunables if isinstance(tunables, dict) else {})


def open_store(path: str | Path, *, clock: Clock = utc_now) -> ReleaseStore:
    """Return the releases of a workspace, for reading.

    Raises:
        NotFound: there is no workspace at `path`.
    """
    root = Path(path).expanduser().resolve()
    layout = Layout(root)
    if not layout.releases.is_dir():
        raise NotFound(
            f"no workspace at {str(path)!r}; create one with `lifehelper init {path}`",
            field="workspace",
        )
    return ReleaseStore(layout, clock)
