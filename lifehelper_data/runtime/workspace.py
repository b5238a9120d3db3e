"""A workspace, opened on one pinned release: what every reader of the platform holds."""

import html
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.ports import Clock
from lifehelper_data.domain.release import Release
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.query import QueryResult, run_query
from lifehelper_data.stores.releases import ReleaseReader, ReleaseRef, ReleaseStore


def utc_now() -> datetime:
    """Return the current time: the one place outside tests that looks at the wall clock."""
    return datetime.now(UTC)


class Workspace:
    """One pinned release of a workspace.

    Open with `Workspace.open(path)`, close when done (or use it as a context manager). Nothing of
    what it shows changes while it is open, whatever is built or promoted meanwhile.
    """

    def __init__(self, layout: Layout, reader: ReleaseReader) -> None:
        self._layout = layout
        self._reader = reader

    @classmethod
    def open(
        cls, path: str | Path, release: ReleaseRef = "current", *, clock: Clock = utc_now
    ) -> "Workspace":
        """Open a workspace on a release.

        Args:
            path: the workspace folder.
            release: "current", a number, or a tag.
            clock: the current time, UTC.

        Raises:
            NotFound: no workspace there, or no such release.
            InvalidRequest: `release` could not be a release.
            Unavailable: the release cannot be read.
        """
        store = open_store(path, clock=clock)
        return cls(store.layout, store.open(release))

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

    def sql(self, query: str) -> QueryResult:
        """Run one read-only query on the release.

        Raises:
            InvalidRequest: not one SELECT, or DuckDB refuses it; the message says why.
        """
        return run_query(self._reader, query)

    def close(self) -> None:
        """Unpin the release. Closing twice is harmless."""
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
