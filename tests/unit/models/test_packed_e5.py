import struct
from pathlib import Path

import numpy as np
import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.models.packed_e5 import dequantise, packed_revision, read_packed


def packed_file(path: Path, magic: bytes = b"E5S1", block: int = 32) -> Path:
    """A file with two vocabulary entries, one mapped character and two tensors."""
    head = magic + struct.pack("<I7ifi", 1, 384, 12, 6, 1536, 9, 512, 2, 1e-12, block)
    vocabulary = struct.pack("<5i", 2, 0, 2, 1, 3) + struct.pack("<Q", 4)
    vocabulary += struct.pack("<3I", 0, 1, 4) + struct.pack("<2f", 0.0, -2.5) + "a책".encode()
    characters = struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("②"), 1, ord("2"))
    bias = struct.pack("<3f", 1.0, 2.0, 3.0)
    weights = np.float16(0.5).tobytes() + bytes(range(16))
    directory_size = 4 + 2 * (2 + 1 + 21)
    offset = len(head + vocabulary + characters) + directory_size
    directory = struct.pack("<i", 2)
    for name, kind, size, raw in ((b"b", 0, 3, bias), (b"w", 1, 32, weights)):
        directory += (
            struct.pack("<H", 1) + name + struct.pack("<BIQQ", kind, size, offset, len(raw))
        )
        offset += len(raw)
    path.write_bytes(head + vocabulary + characters + directory + bias + weights)
    return path


def test_packed_file_is_read(tmp_path: Path) -> None:
    model = read_packed(packed_file(tmp_path / "m.bin"))
    assert (model.shape.hidden, model.shape.layers, model.shape.heads) == (384, 12, 6)
    assert (model.shape.inner, model.shape.words, model.shape.positions) == (1536, 9, 512)
    assert model.shape.types == 2
    assert model.pieces == [("a", 0.0), ("책", -2.5)]
    assert model.character_map == {"②": "2"}
    assert model.tensors["b"].tolist() == [1, 2, 3]
    # byte j = j: low halves 0..15 first, then high halves 0; each minus 8, times 0.5
    assert model.tensors["w"].tolist() == [(j - 8) * 0.5 for j in range(16)] + [-4.0] * 16


def test_each_block_has_its_own_scale() -> None:
    blocks = [np.float16(scale).tobytes() + bytes([0x99] * 16) for scale in (1, -3)]
    assert dequantise(b"".join(blocks), 64).tolist() == [1.0] * 32 + [-3.0] * 32


@pytest.mark.parametrize(
    ("magic", "block", "message"),
    [(b"E5S2", 32, "starts with b'E5S2'"), (b"E5S1", 64, "block size 64, expected 32")],
)
def test_other_layout_is_refused(tmp_path: Path, magic: bytes, block: int, message: str) -> None:
    with pytest.raises(Unavailable, match=message):
        read_packed(packed_file(tmp_path / "m.bin", magic, block))


@pytest.mark.parametrize("kept", [0, 3, 30, 80, -1])
def test_cut_off_file_is_unavailable(tmp_path: Path, kept: int) -> None:
    path = packed_file(tmp_path / "m.bin")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(Unavailable, match=r"m\.bin"):
        read_packed(path)


def test_missing_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="reinstall"):
        read_packed(tmp_path / "absent.bin")
    with pytest.raises(Unavailable, match="reinstall"):
        packed_revision(tmp_path / "absent.bin")


def test_revision_is_the_hash_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"abc")
    assert packed_revision(tmp_path / "m.bin") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # sha256 of "abc"
    )
