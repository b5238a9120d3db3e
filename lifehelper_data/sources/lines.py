"""Physical lines of a byte stream, in constant memory."""

import codecs
import itertools
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources.text_batch import MAX_RECORD_BYTES

BLOCK_BYTES: Final = 1 << 20
_UTF8_BOM: Final = codecs.BOM_UTF8
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}".encode()


class LineReader:
    r"""Lines of a file with look-ahead; `\n`, `\r\n` and a bare `\r` end a line.

    Args:
        path: the file.
        codec: its encoding. UTF-16 is recoded to UTF-8 on the fly; lines then hold UTF-8, and
            what could not be decoded is U+FFFD.
        max_bytes: longer lines are cut there and named in `too_long`.

    Attributes:
        codec: the encoding of the lines handed out.
        bytes_read: bytes of the file consumed so far.
        line: number of lines taken so far.
        too_long: numbers of the lines that were cut (each is forgotten once the next is taken).
    """

    def __init__(self, path: Path, codec: str, *, max_bytes: int = MAX_RECORD_BYTES) -> None:
        self.recoded = codec.startswith("utf-16")
        self.codec = "utf-8" if self.recoded else codec
        self.bytes_read = 0
        self.line = 0
        self.too_long: set[int] = set()
        self._max_bytes = max_bytes
        self._waiting: deque[bytes] = deque()
        self._blocks = self._split(self._recode(self._read(path), codec))
        self._numbered = 0  # lines put in the queue so far

    def take(self) -> bytes | None:
        """Return the next line without its terminator; None at the end."""
        if not self._waiting and not self._fill():
            return None
        self.too_long.discard(self.line)
        self.line += 1
        return self._waiting.popleft()

    def peek(self, ahead: int) -> bytes | None:
        """Return the line `ahead` places after the next one (0 = next); None past the end."""
        while len(self._waiting) <= ahead:
            if not self._fill():
                return None
        return self._waiting[ahead]

    def _fill(self) -> bool:
        for lines in self._blocks:
            self._waiting.extend(lines)
            return True
        return False

    def _read(self, path: Path) -> Iterator[bytes]:
        try:
            with path.open("rb") as handle:
                while block := handle.read(BLOCK_BYTES):
                    self.bytes_read += len(block)
                    yield block
        except OSError as error:
            raise SourceError(f"cannot read {str(path)!r}: {error.strerror or error}") from error

    def _recode(self, blocks: Iterator[bytes], codec: str) -> Iterator[bytes]:
        if self.recoded:
            yield from self._recode_utf_16(blocks, codec)
            return
        head: bytes | None = b""  # what may still turn out to be a BOM
        for block in blocks:
            if codec == "utf-8" and head is not None:
                head += block
                if len(head) >= len(_UTF8_BOM):
                    yield head.removeprefix(_UTF8_BOM)
                    head = None
            else:
                yield block
        yield head or b""

    def _recode_utf_16(self, blocks: Iterator[bytes], codec: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        first = True
        for block in itertools.chain(blocks, [b""]):
            text = decoder.decode(block, final=not block)
            if first and text:
                text, first = text.removeprefix("\ufeff"), False
            yield text.encode("utf-8", errors="replace")

    def _split(self, blocks: Iterator[bytes]) -> Iterator[list[bytes]]:
        tail = b""
        cutting = False  # inside a line already cut
        for block in blocks:
            data = tail + block
            keep = len(data) - 1 if data.endswith(b"\r") else len(data)  # \n may follow
            end = max(data.rfind(b"\n", 0, keep), data.rfind(b"\r", 0, keep)) + 1
            lines, tail = data[:end].splitlines(), data[end:]
            if cutting and lines:
                lines, cutting = lines[1:], False
            if lines:
                yield self._cut(lines)
            if cutting:
                tail = tail[-1:] if tail.endswith(b"\r") else b""
            elif len(tail) - tail.endswith(b"\r") > self._max_bytes:
                yield self._cut([tail])
                tail, cutting = tail[-1:] if tail.endswith(b"\r") else b"", True
        last = tail.splitlines()
        if cutting and last:
            last = last[1:]
        if last:
            yield self._cut(last)

    def _cut(self, lines: list[bytes]) -> list[bytes]:
        for offset, line in enumerate(lines, 1):
            if len(line) > self._max_bytes:
                self.too_long.add(self._numbered + offset)
                lines[offset - 1] = line[: self._max_bytes]
        self._numbered += len(lines)
        return lines
