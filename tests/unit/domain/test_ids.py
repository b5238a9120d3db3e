import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.ids import TEXT_ID_BITS, text_id


def test_known_digest() -> None:
    # SHA-256 of "abc" (FIPS 180-2) starts with ba7816bf 8f01cfea; 64 - 53 = 11 bits are dropped.
    assert text_id("abc") == 0xBA7816BF8F01CFEA >> 11


@given(source_id=st.text(st.characters(exclude_categories=["Cs"])))
def test_id_is_the_first_53_bits_of_the_digest_of_the_utf_8_bytes(source_id: str) -> None:
    bits = "".join(f"{byte:08b}" for byte in hashlib.sha256(source_id.encode("utf-8")).digest())
    assert text_id(source_id) == int(bits[:TEXT_ID_BITS], 2)
    assert text_id(source_id) < 2**53
    assert int(float(text_id(source_id))) == text_id(source_id)  # exact in a float64


def test_distinct_isbns_have_distinct_ids() -> None:
    isbns = [str(9788900000000 + n) for n in range(10_000)]
    assert len({text_id(isbn) for isbn in isbns}) == 10_000


def test_unpaired_surrogate_has_no_id() -> None:
    with pytest.raises(UnicodeEncodeError):
        text_id("\ud800")
