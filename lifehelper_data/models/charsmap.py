"""A character map in the form SentencePiece tokenizers read.

The form is a double-array trie (Aoe 1989; the Darts layout that SentencePiece writes) over the
UTF-8 bytes of each character, followed by the replacements, each ended by a zero byte. A unit is 32
bits: bits 0-7 the byte that leads to it, bit 8 "a value hangs below", bits 10-30 the distance (by
XOR) to its children; a value unit has bit 31 set and the replacement's position in bits 0-30.
"""

import struct
from collections.abc import Mapping
from typing import Final

_HAS_VALUE: Final = 1 << 8
_IS_VALUE: Final = 1 << 31
_MAX_DISTANCE: Final = 1 << 21

_Tree = dict[int, "_Tree | int"]


def compiled_charsmap(character_map: Mapping[str, str]) -> bytes:
    """Return the compiled map; keys are single characters other than NUL.

    Raises:
        ValueError: a key is not a single character, or the map needs a larger trie than the form
            allows.
    """
    replacements = bytearray()
    tree: _Tree = {}
    for character in sorted(character_map):
        if len(character) != 1 or character == "\0":
            raise ValueError(f"{character!r} is not a single character other than NUL")
        node = tree
        for byte in character.encode():
            below = node.setdefault(byte, {})
            if isinstance(below, dict):  # always: no character holds byte 0, where values are
                node = below
        node[0] = len(replacements)
        replacements += character_map[character].encode() + b"\x00"
    units = _Units()
    units.place(0, tree)
    array = units.packed()
    return struct.pack("<I", len(array)) + array + bytes(replacements)


class _Units:
    """The trie while it grows."""

    def __init__(self) -> None:
        self.units: dict[int, int] = {0: 0}
        self.first_base = 1
        self.bases: set[int] = set()

    def place(self, position: int, tree: _Tree) -> None:
        """Give the children of the unit at `position` their places, and theirs in turn."""
        base = self._free_base(position, list(tree))
        self.bases.add(base)
        self.units[position] |= (position ^ base) << 10
        for byte in sorted(tree):
            below = tree[byte]
            if isinstance(below, int):
                self.units[position] |= _HAS_VALUE
                self.units[base] = _IS_VALUE | below
            else:
                self.units[base ^ byte] = byte
        for byte in sorted(tree):
            below = tree[byte]
            if not isinstance(below, int):
                self.place(base ^ byte, below)

    def _free_base(self, position: int, labels: list[int]) -> int:
        base = self.first_base
        while base in self.bases or any(base ^ label in self.units for label in labels):
            base += 1
        if (
            len(labels) == 1
        ):  # no place before this one suits a single child: never look there again
            self.first_base = base
        if position ^ base >= _MAX_DISTANCE:
            raise ValueError("the character map is too large for a trie of this form")
        return base

    def packed(self) -> bytes:
        size = (max(self.units) | 0xFF) + 1
        # an unused unit must never look like the child that a byte leads to
        filled = (self.units.get(at, _IS_VALUE) for at in range(size))
        return struct.pack(f"<{size}I", *filled)
