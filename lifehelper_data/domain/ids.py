"""Numbers for text ids."""

import hashlib
from typing import Final

TEXT_ID_BITS: Final = 53  # exact in a float64 and in JavaScript


def text_id(source_id: str) -> int:
    """Return the first 53 bits of the SHA-256 of a text id, as an integer.

    Args:
        source_id: the id as the source writes it (NFC, trimmed).

    Returns:
        An integer in [0, 2**53).

    >>> text_id("abc") == int("ba7816bf8f01cfea", 16) >> 11
    True
    """
    digest = hashlib.sha256(source_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - TEXT_ID_BITS)
