"""Sorted vocabularies and the numbering of terms, as arrays."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.search.bm25 import DocumentTerms, Ints

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Terms in ascending order of their UTF-8 bytes; a term's number is its position.

    Attributes:
        blob: uint8, the terms one after the other.
        offsets: int64 (n_terms + 1,), where each term starts and ends.
    """

    blob: Bytes
    offsets: Ints

    @classmethod
    def of(cls, terms: Iterable[bytes]) -> "Vocabulary":
        """Return the vocabulary of terms that are in order already."""
        listed = list(terms)
        return cls(
            blob=np.frombuffer(b"".join(listed), dtype=np.uint8),
            offsets=np.cumsum([0, *(len(term) for term in listed)], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def term(self, number: int) -> bytes:
        """Return a term."""
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def lower_bound(self, term: bytes) -> int:
        """Return how many terms come before this one."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.term(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low


@dataclass(slots=True)
class TermCollector:
    """Collects the tokens of documents as numbers; terms are numbered as they first occur.

    Attributes:
        numbers: number of each term.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    _sizes: "array[int]" = field(default_factory=lambda: array("q"))
    _terms: "array[int]" = field(default_factory=lambda: array("i"))
    _counts: "array[int]" = field(default_factory=lambda: array("i"))

    def add(self, tokens: Iterable[str]) -> None:
        """Add the next document."""
        numbers, counted = self.numbers, dict[int, int]()
        for token in tokens:
            number = numbers.setdefault(token, len(numbers))
            counted[number] = counted.get(number, 0) + 1
        self._sizes.append(len(counted))
        self._terms.extend(counted)
        self._counts.extend(counted.values())

    def matrix(self) -> DocumentTerms:
        """Return what was collected, documents in the order in which they were added."""
        return DocumentTerms(
            offsets=offsets_of(np.array(self._sizes, dtype=np.int64)),
            terms=np.array(self._terms, dtype=np.int32),
            counts=np.array(self._counts, dtype=np.int32),
        )


def offsets_of(sizes: Ints) -> Ints:
    """Return where pieces of these sizes start and end, int64 (n + 1,)."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the positions starts[i] .. starts[i] + sizes[i] - 1 of every i, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total, dtype=np.int64)


def merge_vocabularies(
    old: Vocabulary, used: Mask, new: Sequence[str]
) -> tuple[Vocabulary, Ints, Ints]:
    """Return the vocabulary of the old terms in use and all new ones, with the new numbers.

    Args:
        old: a vocabulary.
        used: bool (n_old,), which of its terms are still in use.
        new: different terms in any order; some may be in `old`.

    Returns:
        The merged vocabulary; int64 (n_old,), new number of each old term (of no meaning where
        unused); int64 (n_new,), number of each new term.
    """
    encoded = [term.encode() for term in new]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    bounds = np.array([old.lower_bound(encoded[at]) for at in order], dtype=np.int64)
    known = np.array(
        [
            bound < len(old) and old.term(bound) == encoded[at]
            for bound, at in zip(bounds.tolist(), order, strict=True)
        ],
        dtype=np.bool_,
    )
    used = used.copy()
    used[bounds[known]] = True
    added = bounds[~known]  # where in `old` each really new term would stand, ascending
    kept = np.flatnonzero(used)
    kept_before = offsets_of(used.astype(np.int64))
    old_numbers = kept_before[:-1] + np.searchsorted(added, np.arange(len(old)), side="right")
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[known] = old_numbers[bounds[known]]
    numbers[~known] = kept_before[added] + np.arange(len(added))

    really_new = Vocabulary.of(
        encoded[at] for at, is_known in zip(order, known.tolist(), strict=True) if not is_known
    )
    pool = np.concatenate((old.blob, really_new.blob))
    n_terms = len(kept) + len(added)
    starts, sizes = np.empty(n_terms, np.int64), np.empty(n_terms, np.int64)
    starts[old_numbers[kept]] = old.offsets[kept]
    sizes[old_numbers[kept]] = np.diff(old.offsets)[kept]
    starts[numbers[~known]] = len(old.blob) + really_new.offsets[:-1]
    sizes[numbers[~known]] = np.diff(really_new.offsets)
    merged = Vocabulary(blob=pool[ranges(starts, sizes)], offsets=offsets_of(sizes))
    new_numbers = np.empty(len(order), dtype=np.int64)
    new_numbers[np.array(order, dtype=np.int64)] = numbers
    return merged, old_numbers, new_numbers
