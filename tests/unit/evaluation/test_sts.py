from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import Progress
from lifehelper_data.evaluation.sts import spearman, sts_spearman
from lifehelper_data.models.encoder import Vectors, VectorSpace


class ByAngle:
    """Encodes a query, a number of degrees, as that direction."""

    space = VectorSpace(weights_revision="", dim=2, pooling="", query_prompt="", document_prompt="")
    precision = "fp32"

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        raise AssertionError("both sides are queries")

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        assert len(set(texts)) == len(texts)
        angles = np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


PAIRS = [("0", "10"), ("0", "40"), ("10", "80"), ("0", "90")]  # 10, 40, 70, 90 degrees apart


def test_human_order_equal_to_cosine_order_scores_one() -> None:
    assert sts_spearman(ByAngle(), PAIRS, [5, 4, 2, 0]) == pytest.approx(1)
    assert sts_spearman(ByAngle(), PAIRS, [0, 2, 4, 5]) == pytest.approx(-1)


def test_one_swap_of_neighbours_among_four() -> None:
    # rho = 1 - 6 * (1 + 1) / (4 * 15)
    assert sts_spearman(ByAngle(), PAIRS, [5, 2, 4, 0]) == pytest.approx(1 - 12 / 60)


def test_tied_scores_share_their_rank() -> None:
    # ranks 1 2 3 and 1.5 1.5 3 about their means: 1.5 / sqrt(2 * 1.5)
    found = spearman(np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 5.0]))
    assert found == pytest.approx(1.5 / 3**0.5)


def test_unscored_where_there_is_no_order() -> None:
    assert sts_spearman(ByAngle(), [], []) is None
    assert sts_spearman(ByAngle(), PAIRS[:1], [3]) is None
    assert sts_spearman(ByAngle(), PAIRS, [3, 3, 3, 3]) is None


def test_missing_score_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="4 pairs but 3 scores"):
        sts_spearman(ByAngle(), PAIRS, [1, 2, 3])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30))
def test_bounded_and_blind_to_monotone_change_and_order(values: list[tuple[int, int]]) -> None:
    left, right = (np.array(side, dtype=np.float64) for side in zip(*values, strict=True))
    found = spearman(left, right)
    again = spearman(np.exp(left[::-1]), right[::-1] * 3 + 1)
    if found is None:
        assert again is None
    else:
        assert -1 - 1e-12 <= found <= 1 + 1e-12
        assert again == pytest.approx(found, abs=1e-12)
