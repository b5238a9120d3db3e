"""Novelty: how surprising it is to see these items."""

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.shown_items import Shown, checked_item_values
from lifehelper_data.evaluation.statistics.counts import Floats


def novelty(shown: Shown, users_of_item: npt.ArrayLike, n_users: int) -> Floats:
    """Return the mean self-information of the items of each list, in bits: float64 (n_cases,).

    -log2(max(u, 1) / n_users) with u the users who have the item: an item nobody has is as novel
    as one that a single user has. 0 (everybody has it) to log2(n_users). NaN (undefined) for a
    list without a known item.

    Source: Zhou et al. 2010, "Solving the apparent diversity-accuracy dilemma of recommender
    systems" (PNAS).

    Args:
        shown: what the lists show.
        users_of_item: (n_items,), how many users have each item, 0 to n_users.
        n_users: how many users there are, >= 1.

    Raises:
        InvalidRequest: no users, or more users of an item than there are.

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> lists = Rankings.from_lists([[1, 2], []])
    >>> novelty(shown(lists, [1, 2], 10), [8, 1], 8).tolist()  # (0 + log2(8)) / 2
    [1.5, nan]
    """
    users = checked_item_values(users_of_item, shown, "users_of_item")
    if n_users < 1 or float(users.max(initial=0.0)) > n_users:
        raise InvalidRequest(
            f"n_users {n_users!r}, but an item has {float(users.max(initial=0.0)):g} users; count "
            "both over the same users",
            field="n_users",
        )
    return shown.mean_of(-np.log2(np.maximum(users, 1.0) / n_users) + 0.0)
