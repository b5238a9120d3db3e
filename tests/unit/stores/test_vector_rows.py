import numpy as np
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.vector_rows import (
    VectorRows,
    bad_vectors,
    check_ids,
    content_digest,
)

IDS = np.array([1, 2], dtype=np.int64)


def vectors(*rows: tuple[float, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(rows, dtype=np.float32).reshape(len(rows), 2)


def test_length_may_be_off_by_a_thousandth() -> None:
    found = bad_vectors(vectors((1, 0), (1.0009, 0), (0.9991, 0), (1.0011, 0), (0.9989, 0)))
    assert found.tolist() == [3, 4]


def test_what_is_not_finite_is_bad() -> None:
    nan, inf = float("nan"), float("inf")
    found = bad_vectors(vectors((nan, 1), (0.6, 0.8), (inf, 0), (0, 0), (3e38, 3e38)))
    assert found.tolist() == [0, 2, 3, 4]
    assert bad_vectors(vectors()).tolist() == []


def test_bad_vectors_are_found_beyond_the_first_block() -> None:
    many = np.zeros((5000, 2), dtype=np.float32)
    many[:, 0] = 1
    many[4999, 0] = 2
    assert bad_vectors(many).tolist() == [4999]


def test_content_digest_depends_on_ids_digests_space_and_dim() -> None:
    digests = [
        content_digest("space", 2, IDS, ["aa", "bb"]),
        content_digest("space", 2, IDS, ["bb", "aa"]),
        content_digest("space", 2, IDS + 1, ["aa", "bb"]),
        content_digest("other", 2, IDS, ["aa", "bb"]),
        content_digest("space", 3, IDS, ["aa", "bb"]),
        content_digest("space", 2, IDS[:0], []),
    ]
    assert len(set(digests)) == 6
    assert digests[0] == content_digest("space", 2, IDS.copy(), ["aa", "bb"])


def test_faults_name_the_first_item() -> None:
    rows = VectorRows(
        item_ids=np.array([3, 4, 4], dtype=np.int64),
        digests=["aa", "bb", "cc"],
        vectors=vectors((1, 0), (2, 0), (0, 0)),
    )
    assert rows.faults("item") == [
        "item 4 stands in it more than once",
        "2 vectors are not finite or not of length 1, the first that of item 4",
    ]


def test_ids_of_another_type_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="int32"):
        check_ids(np.array([1], dtype=np.int32))
    check_ids(IDS[:0])
