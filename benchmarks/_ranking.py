"""Made-up rankings and relevance, as arrays and in the shape that the peers want."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from lifehelper_data.evaluation.metrics import Rankings, Relevance
from lifehelper_data.evaluation.statistics.counts import Ints

ITEMS: Final = 2_000
MOST_RELEVANT: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Result lists without ties or repeats, and 1 to 20 relevant items per user.

    Attributes:
        items: int64 (n_users, depth), best first.
        user: int64 (m,), ascending.
        relevant: int64 (m,), different within a user.
        grade: int64 (m,), 1 to 3.
    """

    items: Ints
    user: Ints
    relevant: Ints
    grade: Ints

    def ours(self) -> tuple[Rankings, Relevance]:
        """Return both as ours, made from the arrays."""
        return Rankings.from_matrix(self.items), Relevance.from_pairs(
            self.user, self.relevant, self.grade, n_cases=len(self.items)
        )

    def dicts(
        self, n_users: int | None = None
    ) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        """Return relevance and lists of the first users as the peers' dicts of texts."""
        chosen = self.items[:n_users]
        relevance: dict[str, dict[str, int]] = {str(at): {} for at in range(len(chosen))}
        inside = self.user < len(chosen)
        for user, item, grade in zip(
            self.user[inside].tolist(),
            self.relevant[inside].tolist(),
            self.grade[inside].tolist(),
            strict=True,
        ):
            relevance[str(user)][str(item)] = grade
        depth = chosen.shape[1]
        scores = np.arange(depth, 0, -1).astype(np.float64).tolist()
        lists: dict[str, Any] = {
            str(at): dict(zip(map(str, row), scores, strict=True))
            for at, row in enumerate(chosen.tolist())
        }
        return relevance, lists


def drawn(n_users: int, depth: int, seed: int) -> Drawn:
    """Return made-up lists.

    A user's list walks through the catalog with a stride; the relevant items are a stretch of the
    same walk, inside the list, behind it, or across its end.
    """
    rng = np.random.default_rng(seed)
    start = rng.integers(0, ITEMS, (n_users, 1))
    # A stride without a common factor meets every item once.
    stride = rng.choice(np.flatnonzero(np.gcd(np.arange(ITEMS), ITEMS) == 1), (n_users, 1))
    items = (start + stride * np.arange(depth)) % ITEMS
    sizes = rng.integers(1, MOST_RELEVANT + 1, n_users)
    user = np.repeat(np.arange(n_users), sizes)
    place = np.arange(len(user)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = (start + stride * rng.integers(0, 2 * depth, n_users)[:, None])[user, 0]
    relevant = (own + stride[user, 0] * place) % ITEMS
    return Drawn(
        items=items.astype(np.int64),
        user=user.astype(np.int64),
        relevant=relevant.astype(np.int64),
        grade=rng.integers(1, 4, len(user)),
    )
