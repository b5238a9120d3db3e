"""What an encoder is, and the space its vectors live in."""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import Progress

MAX_TOKENS: Final = 512
"""Longest text an encoder reads, in tokens with the prompt; the rest is cut off."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """What must be equal for two vectors to be comparable. Precision and runtime are not in it.

    Attributes:
        weights_revision: hex sha256 of the weight files.
        dim: length of a vector.
        pooling: how token vectors become one, such as "mean".
        query_prompt: text put before every query.
        document_prompt: text put before every document.
    """

    weights_revision: str
    dim: int
    pooling: str
    query_prompt: str
    document_prompt: str

    @property
    def vector_space_id(self) -> str:
        """First 16 hex characters of the sha256 over all attributes."""
        values = (
            self.weights_revision,
            self.pooling,
            self.query_prompt,
            self.document_prompt,
            str(self.dim),
        )
        # every value is preceded by its length, so that no two lists of values run together
        text = "".join(f"{len(value)}:{value}" for value in values)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Encoder(Protocol):
    """Turns texts into vectors of one space.

    Texts are brought to NFC, lose their NULs and are read up to `MAX_TOKENS`. Row i belongs to
    text i. No texts give an array of shape (0, dim). The same call gives the same bits; another
    batch size or order moves a component by at most 5e-3 (bf16) or 1e-5 (fp32).
    """

    @property
    def space(self) -> VectorSpace:
        """The space of the vectors."""
        ...

    @property
    def precision(self) -> str:
        """What the runtime computes in: "fp32", "bf16" or "q4"."""
        ...

    def encode_documents(
        self, texts: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return float32 (n, dim), rows of length 1 within 1e-6.

        Raises:
            InvalidRequest: a text holds an unpaired surrogate.
        """
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim), rows of length 1 within 1e-6.

        Raises:
            InvalidRequest: a text holds an unpaired surrogate.
        """
        ...


def check_space(actual: VectorSpace, expected: VectorSpace) -> None:
    """Refuse vectors of another space.

    Args:
        actual: the space of the encoder at hand.
        expected: the space of the stored vectors.

    Raises:
        InvalidRequest: they differ; names both, the first attribute that differs, and what to do.
    """
    if actual == expected:
        return
    names = ("dim", "pooling", "query_prompt", "document_prompt", "weights_revision")
    name = next(name for name in names if getattr(actual, name) != getattr(expected, name))
    raise InvalidRequest(
        f"the encoder's vector space {actual.vector_space_id!r} is not the stored vectors' "
        f"{expected.vector_space_id!r}: {name} {getattr(actual, name)!r} against "
        f"{getattr(expected, name)!r}; configure the model the vectors were made with, or run "
        "`lifehelper build` with this model to build a new space",
        field="encoder.model",
    )


def readable_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts in NFC and without NUL, which no tokenizer reads and which ends a C string.

    Raises:
        InvalidRequest: a text holds an unpaired surrogate; names its position.
    """
    for position, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                f"text {position} holds the unpaired surrogate {text[error.start]!r} at character "
                f"{error.start}; remove it",
                field="texts",
            ) from error
    return [unicodedata.normalize("NFC", text).replace("\0", "") for text in texts]


def unit_rows(vectors: NDArray[np.floating]) -> Vectors:
    """Return the rows scaled to length 1, as float32; a row of zeros stays zeros.

    The length is taken in float64 so that it is 1 within 1e-6 after rounding to float32.

    >>> unit_rows(np.array([[3.0, 4.0]], dtype=np.float32)).tolist() == [
    ...     [float(np.float32(0.6)), float(np.float32(0.8))]
    ... ]
    True
    """
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, np.newaxis]
    lengths[lengths == 0] = 1
    rows: Vectors = (wide / lengths).astype(np.float32)
    return rows


def row_cosines(left: Vectors, right: Vectors) -> NDArray[np.float64]:
    """Return the cosine of row i of `left` with row i of `right`: float64 (n,).

    Args:
        left: float32 (n, dim), rows of length 1.
        right: float32 (n, dim), rows of length 1.
    """
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return cosines
