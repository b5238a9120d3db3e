import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.encoder import (
    VectorSpace,
    check_space,
    readable_texts,
    row_cosines,
    unit_rows,
)

SPACE = VectorSpace(
    weights_revision="ab12", dim=384, pooling="mean", query_prompt="query: ", document_prompt="p: "
)


def test_space_id_is_the_hash_of_revision_pooling_prompts_and_dim() -> None:
    text = "4:ab124:mean7:query: 3:p: 3:384"
    assert SPACE.vector_space_id == hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "changed",
    [
        replace(SPACE, weights_revision="ab13"),
        replace(SPACE, dim=385),
        replace(SPACE, pooling="cls"),
        replace(SPACE, query_prompt=""),
        replace(SPACE, document_prompt="query: "),
        replace(SPACE, query_prompt="query: p", document_prompt=": "),
    ],
)
def test_every_attribute_changes_the_space_id(changed: VectorSpace) -> None:
    assert changed.vector_space_id != SPACE.vector_space_id


def test_equal_space_passes_the_check() -> None:
    check_space(replace(SPACE), SPACE)


def test_wrong_dim_is_refused_naming_both_spaces_and_the_remedy() -> None:
    other = replace(SPACE, dim=1024)
    with pytest.raises(InvalidRequest) as caught:
        check_space(other, SPACE)
    message = str(caught.value)
    assert repr(other.vector_space_id) in message
    assert repr(SPACE.vector_space_id) in message
    assert "dim 1024 against 384" in message
    assert "`lifehelper build`" in message


def test_other_weights_of_the_same_shape_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="weights_revision 'ff' against 'ab12'"):
        check_space(replace(SPACE, weights_revision="ff"), SPACE)


def test_texts_come_out_in_nfc_without_nul() -> None:
    assert readable_texts(["\u1112\u1161\u11ab", "a\0b", ""]) == ["한", "ab", ""]


def test_unpaired_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidRequest, match=r"text 1 holds .*'\\ud800' at character 2"):
        readable_texts(["좋은 책", "책 \ud800"])


def test_rows_are_scaled_to_length_one_and_zeros_stay() -> None:
    rows = unit_rows(np.array([[3, 4], [0, 0], [0, -2]], dtype=np.float32))
    assert rows.dtype == np.float32
    assert rows.tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0], [0, -1]]


@given(
    st.lists(
        st.floats(-1e4, 1e4, width=32).filter(lambda x: abs(x) > 1e-4), min_size=1, max_size=384
    )
)
def test_unit_length_holds_within_1e_6(values: list[float]) -> None:
    row = unit_rows(np.array([values], dtype=np.float32)).astype(np.float64)
    assert abs(float(np.sqrt((row**2).sum())) - 1) <= 1e-6


def test_no_rows_stay_no_rows() -> None:
    assert unit_rows(np.empty((0, 384), dtype=np.float32)).shape == (0, 384)


def test_cosines_are_taken_row_by_row() -> None:
    left = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    right = np.array([[0, 1], [0.6, 0.8]], dtype=np.float32)
    assert row_cosines(left, right) == pytest.approx([0, 0.36 + 0.64], abs=1e-7)
