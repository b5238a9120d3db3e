"""The habit catalog of a release, held in memory: it has some hundred items."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.ids import text_id
from lifehelper_data.stores.releases import ReleaseReader


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitItem:
    """One item of the habit catalog."""

    item_id: str
    title: str
    kind: str
    category: str
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HabitCatalog:
    """All items, ordered by category, then item_id.

    Attributes:
        items: the items.
        numbers: int64 (n_items,), the number that indexes know each item by; see `text_id`.
    """

    items: Sequence[HabitItem]
    numbers: npt.NDArray[np.int64]

    @classmethod
    def open(cls, reader: ReleaseReader) -> "HabitCatalog":
        """Load the catalog of a release."""
        rows = reader.rows(
            "SELECT item_id, title, kind, category, summary FROM habit_catalog "
            "ORDER BY category, item_id"
        )
        items = [
            HabitItem(
                item_id=str(item_id),
                title=str(title),
                kind=str(kind),
                category=str(category),
                summary=None if summary is None else str(summary),
            )
            for item_id, title, kind, category, summary in rows
        ]
        numbers = np.array([text_id(item.item_id) for item in items], dtype=np.int64)
        return cls(items=items, numbers=numbers)

    def kept(self, category: str | None, kind: str | None) -> list[HabitItem]:
        """Return the items of a category and kind, in their order; None asks nothing."""
        return [
            item
            for item in self.items
            if category in {None, item.category} and kind in {None, item.kind}
        ]
