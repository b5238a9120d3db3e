"""Pages of a search: page 2 comes from the release of page 1, or not at all."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lifehelper_data.domain.errors import CursorExpired, NotFound, Unavailable
from lifehelper_data.domain.ports import Clock
from lifehelper_data.domain.search.cursor import (
    Cursor,
    decode_cursor,
    encode_cursor,
    fingerprint,
)
from lifehelper_data.runtime.requests import SearchRequest
from lifehelper_data.runtime.search import Ranking, SearchEngine
from lifehelper_data.runtime.search_results import SearchResponse
from lifehelper_data.stores.releases import ReleaseReader

KEPT_RELEASES: Final = 2
"""Releases beside the pinned one that stay open for cursors."""

OpenEngine = Callable[[int], tuple[ReleaseReader, SearchEngine]]


@dataclass(slots=True)
class Pager:
    """Answers searches page by page.

    Attributes:
        engine: the engine of the pinned release.
        open_engine: pins another release and opens an engine on it; NotFound or Unavailable if it
            is gone.
        secret: signs cursors.
        clock: the current time, UTC.
    """

    engine: SearchEngine
    open_engine: OpenEngine
    secret: bytes
    clock: Clock
    _others: dict[int, tuple[ReleaseReader, SearchEngine]] = field(default_factory=dict, init=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)

    def search(self, request: SearchRequest, *, explain: bool = False) -> SearchResponse:
        """Answer one page.

        Raises:
            CursorExpired: the cursor is too old, not ours, of another request, or its release is
                gone.
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        if request.cursor is None:
            engine, start = self.engine, 0
            ranking = engine.rank(request)
        else:
            cursor = decode_cursor(request.cursor, self.secret, self.clock())
            engine, start = self._engine_of(cursor), cursor.position
            ranking = engine.rank(request)
            if cursor.fingerprint != _fingerprint(request, ranking, engine):
                raise CursorExpired(
                    "cursor belongs to another search (query, filters, sort, weights, or a leg "
                    "that was missing then or is now); search again from the first page",
                    field="cursor",
                )
        page = engine.page(ranking, start, request.size, explain=explain)
        following = Cursor(
            position=start + request.size,
            release_id=engine.release_id,
            fingerprint=_fingerprint(request, ranking, engine),
            issued_at=self.clock().replace(microsecond=0),
        )
        return SearchResponse(
            results=page.results,
            next_cursor=encode_cursor(following, self.secret) if page.more else None,
            fallback=page.fallback,
            degraded=page.degraded,
            release_id=engine.release_id,
        )

    def close(self) -> None:
        """Unpin the releases that cursors opened."""
        with self._guard:
            for reader, _ in self._others.values():
                reader.close()
            self._others.clear()

    def _engine_of(self, cursor: Cursor) -> SearchEngine:
        if cursor.release_id == self.engine.release_id:
            return self.engine
        with self._guard:
            known = self._others.get(cursor.release_id)
            if known is None:
                known = self._opened(cursor.release_id)
                while len(self._others) >= KEPT_RELEASES:
                    oldest = next(iter(self._others))
                    self._others.pop(oldest)[0].close()
                self._others[cursor.release_id] = known
            return known[1]

    def _opened(self, release_id: int) -> tuple[ReleaseReader, SearchEngine]:
        try:
            return self.open_engine(release_id)
        except (NotFound, Unavailable) as error:
            raise CursorExpired(
                f"cursor continues on release {release_id}, which is gone; search again from the "
                "first page",
                field="cursor",
            ) from error


def _fingerprint(request: SearchRequest, ranking: Ranking, engine: SearchEngine) -> bytes:
    return fingerprint(
        {
            "query": request.query,
            "filters": request.filters.model_dump(mode="json"),
            "sort": request.sort,
            "degraded": ranking.degraded,
            "tunables": engine.tunables.model_dump(mode="json"),
        }
    )
