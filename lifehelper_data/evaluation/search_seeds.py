"""Draws that depend on a name and on nothing else: not on other cases, their order or number."""

import hashlib
from typing import Literal

import numpy as np

Split = Literal["dev", "test"]


def seeded_rng(name: str) -> np.random.Generator:
    """Return a generator of its own for a name.

    >>> seeded_rng("7:book 1").integers(100) == seeded_rng("7:book 1").integers(100)
    np.True_
    """
    return np.random.default_rng(_number(name))


def split_of(family: str) -> Split:
    """Return the half a family of cases belongs to: dev to choose on, test to report.

    The first bit of the SHA-256 of its name decides, so a family that comes or goes moves no other.

    >>> [split_of(f"book {number}") for number in range(6)]
    ['test', 'test', 'test', 'dev', 'dev', 'test']
    """
    return "dev" if _number(f"split:{family}") < 2**63 else "test"


def draw_order(seed: int, name: str) -> int:
    """Return the key by which names are put in a drawn order; the first n are a sample of n."""
    return _number(f"{seed}:{name}")


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
