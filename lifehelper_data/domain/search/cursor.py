"""Cursors: where the next page begins, signed, and good for one request on one release.

A cursor is URL-safe base64 of a fixed-size record and its HMAC-SHA256 (RFC 2104), cut to 16 bytes.
It holds nothing of the request but a fingerprint.
"""

import base64
import binascii
import hashlib
import hmac
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lifehelper_data.domain.errors import CursorExpired

LIFETIME: Final = timedelta(minutes=30)
MAX_CHARACTERS: Final = 200
_RECORD: Final = struct.Struct(">BIQI16s")  # version, position, issued (s), release, fingerprint
_VERSION: Final = 1
_SIGNATURE_BYTES: Final = 16
_CLOCK_SLACK: Final = timedelta(minutes=1)
"""How far ahead the clock of the process that issued a cursor may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page begins.

    Attributes:
        position: results on the pages before it.
        release_id: release that page 1 was answered from.
        fingerprint: 16 bytes, of the request; see `fingerprint`.
        issued_at: when the page before it was answered, UTC, whole seconds.
    """

    position: int
    release_id: int
    fingerprint: bytes
    issued_at: datetime


def fingerprint(request: Mapping[str, object]) -> bytes:
    """Return 16 bytes that two requests share only if they rank the same.

    Args:
        request: everything that decides the ranking, JSON-ready: query, filters, sort, degraded
            mode, weights.
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def encode_cursor(cursor: Cursor, secret: bytes) -> str:
    """Return a cursor as text; equal cursors give equal texts."""
    record = _RECORD.pack(
        _VERSION,
        cursor.position,
        int(cursor.issued_at.timestamp()),
        cursor.release_id,
        cursor.fingerprint,
    )
    return base64.urlsafe_b64encode(record + _sign(record, secret)).decode("ascii").rstrip("=")


def decode_cursor(text: str, secret: bytes, now: datetime) -> Cursor:
    """Return what a text says, if we signed it and it is still good.

    Args:
        text: what the client gave back.
        secret: the key it was signed with.
        now: the current time, UTC.

    Raises:
        CursorExpired: it is older than 30 minutes, or is not one of ours.
    """
    raw = _bytes_of(text)
    record, signature = raw[: _RECORD.size], raw[_RECORD.size :]
    if len(raw) != _RECORD.size + _SIGNATURE_BYTES or not hmac.compare_digest(
        _sign(record, secret), signature
    ):
        raise _refused(text, "it was not issued here")
    version, position, issued_s, release_id, mark = _RECORD.unpack(record)
    issued_at = datetime.fromtimestamp(issued_s, tz=UTC)
    if version != _VERSION:
        raise _refused(text, f"it is of version {version}")
    if not -_CLOCK_SLACK <= now - issued_at <= LIFETIME:
        raise _refused(text, f"it was issued at {issued_at:%Y-%m-%d %H:%M:%S} UTC and lives 30 min")
    return Cursor(position=position, release_id=release_id, fingerprint=mark, issued_at=issued_at)


def _sign(record: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, record, "sha256")[:_SIGNATURE_BYTES]


def _bytes_of(text: str) -> bytes:
    """Decode strictly: exactly one text stands for a record."""
    if not text.isascii() or len(text) > MAX_CHARACTERS:
        raise _refused(text, "it was not issued here")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused(text, "it was not issued here") from error
    if base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=") != text:
        raise _refused(text, "it was not issued here")
    return raw


def _refused(text: str, why: str) -> CursorExpired:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return CursorExpired(
        f"cursor = {shown!r} is not good any more: {why}; search again from the first page",
        field="cursor",
    )
