"""The quantised copy of a tag's vectors, which search reads instead of them.

`<tag>.codes` in the snapshots' folder: a JSON header of 4096 bytes, then the arrays of
`ScanCodes` one after the other. It is derived: made at `publish`, or at the first search that
misses it, and dropped with its tag. A file that is not whole, or of other vectors, is not used
but made again; where nothing can be written its content is held in memory.

Measured at 200,000 x 384: quantising 0.3 s, checking the hash 0.05 s (once per opened snapshot).
"""

import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedRandom
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_rows import Vectors

if TYPE_CHECKING:
    from lifehelper_data.domain.search.scan import ScanCodes

CODES_FROM_ROWS: Final = 2_000
"""Rows from which there are codes. Measured at 384 numbers: with 1,000 rows a product in float32 is
as fast (0.1 ms); with 2,000 it uses two threads, and on a busy machine they wait for each other."""

_FORMAT: Final = 1
_HEADER_BYTES: Final = 4096
_ROWS_AT_A_TIME: Final = 16_384
_SAMPLED_ROWS: Final = 64  # of the vectors, to notice codes of others
_ALIGNMENT: Final = 64


def wants_codes(rows: int) -> bool:
    """Whether a snapshot of so many rows is searched by codes."""
    return rows >= CODES_FROM_ROWS


def load_or_make_codes(files: VectorFiles, tag: str, vectors: Vectors) -> "ScanCodes":
    """Return the codes of a tag's vectors float32 (n, dim), kept on disk for the next reader."""
    kept = load_codes(files, tag, vectors)
    if kept is not None:
        return kept
    with suppress(OSError):  # read-only or full: this reader is served from memory
        save_codes(files, tag, vectors)
        kept = load_codes(files, tag, vectors)
    return kept or _quantised(vectors)


def save_codes(files: VectorFiles, tag: str, vectors: Vectors) -> None:
    """Quantise vectors float32 (n, dim) and keep the codes; the file is whole or absent."""
    target = files.cached_codes(tag)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb+") as handle:
            _write(handle, vectors)
        replace_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load_codes(files: VectorFiles, tag: str, vectors: Vectors) -> "ScanCodes | None":
    """Map the kept codes; None if they are missing, not whole, or not of these vectors."""
    from lifehelper_data.domain.search.scan import ScanCodes  # numba, on need

    rows, dim = vectors.shape
    try:
        with files.cached_codes(tag).open("rb") as handle:
            header = json.loads(handle.read(_HEADER_BYTES))
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        mapped = np.memmap(files.cached_codes(tag), dtype=np.uint8, mode="r")
    except (OSError, ValueError):  # a cache
        return None
    if header != _header(vectors, digest):
        return None
    plain = np.asarray(mapped)  # compiled code does not know np.memmap
    arrays = {
        name: plain[start:stop].view(dtype).reshape(shape)
        for name, start, stop, dtype, shape in _places(rows, dim)
    }
    return ScanCodes(**arrays)


def codes_fault(files: VectorFiles, tag: str, vectors: Vectors) -> str | None:
    """Return what is wrong with the kept codes: every bound is reckoned again. None kept: None."""
    from lifehelper_data.domain.search.scan import broken_bounds  # numba, on need

    if not files.cached_codes(tag).exists():
        return None
    kept = load_codes(files, tag, vectors)
    if kept is None:
        return "is damaged, or holds codes of other vectors"
    broken = broken_bounds(kept, vectors)
    return f"misplaces {len(broken)} of {len(vectors)} rows" if len(broken) else None


def _quantised(vectors: Vectors) -> "ScanCodes":
    from lifehelper_data.domain.search.scan import centre_of, quantise  # numba, on need

    return quantise(vectors, centre_of(vectors))


def _write(handle: BufferedRandom, vectors: Vectors) -> None:
    """Write header and arrays; codes block by block, because those of a large table are large."""
    from lifehelper_data.domain.search.scan import centre_of, quantise  # numba, on need

    rows, dim = vectors.shape
    centre = centre_of(vectors)
    small = {"centre": centre, "scales": np.empty(rows, np.float32)}
    small["errors"] = np.empty(rows, np.float32)
    places = {name: start for name, start, *_ in _places(rows, dim)}
    handle.seek(places["codes"])
    for start in range(0, rows, _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        block = quantise(vectors[part], centre)
        handle.write(block.codes.data)
        small["scales"][part], small["errors"][part] = block.scales, block.errors
    for name, array in small.items():
        handle.seek(places[name])
        handle.write(array.data)
    handle.truncate(_file_bytes(rows, dim))
    handle.seek(_HEADER_BYTES)
    digest = hashlib.file_digest(handle, "sha256").hexdigest()
    handle.seek(0)
    handle.write(json.dumps(_header(vectors, digest)).encode().ljust(_HEADER_BYTES))


def _header(vectors: Vectors, digest: str) -> dict[str, Any]:
    """Return what a file's header has to say.

    Args:
        vectors: float32 (n, dim), what the codes are of.
        digest: hex sha256 of everything behind the header.
    """
    rows, dim = vectors.shape
    sample = np.unique(np.linspace(0, rows - 1, min(rows, _SAMPLED_ROWS)).astype(np.int64))
    return {
        "format_version": _FORMAT,
        "rows": rows,
        "dim": dim,
        "vectors_sample": hashlib.sha256(vectors[sample].tobytes()).hexdigest(),
        "sha256": digest,
    }


def _places(rows: int, dim: int) -> Iterator[tuple[str, int, int, Any, tuple[int, ...]]]:
    """Yield each array's name, first byte, end, type and shape, in the order of the file."""
    start = _HEADER_BYTES
    for name, dtype, shape in (
        ("codes", np.int8, (rows, dim)),
        ("scales", np.float32, (rows,)),
        ("errors", np.float32, (rows,)),
        ("centre", np.float32, (dim,)),
    ):
        stop = start + int(np.prod(shape)) * np.dtype(dtype).itemsize
        yield name, start, stop, dtype, shape
        start = -(-stop // _ALIGNMENT) * _ALIGNMENT


def _file_bytes(rows: int, dim: int) -> int:
    return max(stop for _, _, stop, _, _ in _places(rows, dim))
