"""Search in the habit catalog: the legs and fusion of book search over other items."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lifehelper_data.domain.search.filters import Mask
from lifehelper_data.domain.search.fusion import fuse
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.runtime.legs import Legs
from lifehelper_data.runtime.requests import HabitSearchRequest
from lifehelper_data.stores.habit_catalog import HabitCatalog, HabitItem
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.vector_snapshot import VectorSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitSearchResponse:
    """The answer to a search in the habit catalog.

    Attributes:
        items: best first; without a query by category, then item_id.
        degraded: "keyword-only" if the vector leg could not answer.
        release_id: the release it was answered from.
    """

    items: Sequence[HabitItem]
    degraded: str | None
    release_id: int

    def to_dict(self) -> dict[str, object]:
        """Return it JSON-ready."""
        return {
            "items": [
                {
                    "item_id": item.item_id,
                    "title": item.title,
                    "kind": item.kind,
                    "summary": item.summary,
                }
                for item in self.items
            ],
            "degraded": self.degraded,
            "release_id": self.release_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitSearch:
    """Everything a search in the habit catalog needs of one release.

    Attributes:
        release_id: number of the pinned release.
        catalog: the items.
        legs: index and vectors of the items.
    """

    release_id: int
    catalog: HabitCatalog
    legs: Legs

    def search(self, request: HabitSearchRequest) -> HabitSearchResponse:
        """Answer a search. Ties: higher score, then the item's number.

        Raises:
            Unavailable: a query is given and the keyword index cannot be read.
        """
        kept = self.catalog.kept(request.category, request.kind)
        if request.query is None:
            return self._response(kept[: request.limit], degraded=None)
        query = normalize(request.query)
        tokens = self.legs.language.analysed(query)
        if not (tokens.words or tokens.bigrams):
            return self._response([], degraded=None)
        names = {item.item_id for item in kept}
        numbers = np.array(
            [
                number
                for number, item in zip(self.catalog.numbers, self.catalog.items, strict=True)
                if item.item_id in names
            ],
            dtype=np.int64,
        )

        def by_words(index: KeywordIndex | RankBm25Fields) -> Mask:
            return np.isin(index.book_ids, numbers)

        def by_meaning(snapshot: VectorSnapshot) -> Mask:
            return np.isin(snapshot.item_ids, numbers)

        keyword = self.legs.keyword_leg(tokens, by_words)
        vector = self.legs.vector_leg(query, by_meaning)
        fused = fuse([keyword, *([vector] if vector else [])], k=self.legs.tunables.rrf_k)
        by_number = dict(zip(self.catalog.numbers.tolist(), self.catalog.items, strict=True))
        found = [by_number[hit.book_id] for hit in fused if hit.book_id in by_number]
        return self._response(found[: request.limit], degraded=None if vector else "keyword-only")

    def _response(self, items: Sequence[HabitItem], degraded: str | None) -> HabitSearchResponse:
        return HabitSearchResponse(
            items=tuple(items), degraded=degraded, release_id=self.release_id
        )
