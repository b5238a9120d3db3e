"""Identity of a table: equal rows, equal hash, whatever the order, parts or threads.

Each row's canonical text is hashed with SHA-256; the four 64-bit lanes of the row hashes are
summed modulo 2**64 (an additive multiset hash: Bellare & Micciancio 1997, AdHash). The sum of two
parts is the identity of their union, so bucket count does not matter. It guards against accidents,
not against an adversary who may choose rows.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

LANES: Final = 4
_MODULUS: Final = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsHash:
    """Additive hash of a multiset of rows.

    Attributes:
        rows: how many rows were summed.
        lanes: the four sums, each in [0, 2**64).
    """

    rows: int
    lanes: tuple[int, int, int, int]

    @classmethod
    def of_sums(cls, rows: int, sums: Iterable[int]) -> "RowsHash":
        """Reduce raw lane sums (any non-negative integers) to a RowsHash."""
        a, b, c, d = (value % _MODULUS for value in sums)
        return cls(rows=rows, lanes=(a, b, c, d))

    @classmethod
    def empty(cls) -> "RowsHash":
        """The hash of no rows."""
        return cls(rows=0, lanes=(0, 0, 0, 0))

    def __add__(self, other: "RowsHash") -> "RowsHash":
        return RowsHash.of_sums(
            self.rows + other.rows,
            (x + y for x, y in zip(self.lanes, other.lanes, strict=True)),
        )

    def identity(self, schema: str) -> str:
        """Return the hex identity (64 characters) of these rows under a schema text."""
        text = f"{schema}|{self.rows}|" + "|".join(f"{lane:016x}" for lane in self.lanes)
        return hashlib.sha256(text.encode()).hexdigest()


def combined_identity(identities: Mapping[str, str]) -> str:
    """Return the identity of several named identities, independent of their order.

    >>> combined_identity({"a": "1", "b": "2"}) == combined_identity({"b": "2", "a": "1"})
    True
    """
    text = "\n".join(f"{name}={identities[name]}" for name in sorted(identities))
    return hashlib.sha256(text.encode()).hexdigest()
