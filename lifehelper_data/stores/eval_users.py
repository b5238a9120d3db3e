"""User ids never enter a stored run: a keyed digest stands for each."""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.stores.eval_records import Json
from lifehelper_data.stores.layout import Layout

USER_FIELDS: Final = ("user_id", "user_ids")
"""Names under which a user id may stand in a case or an output, at any depth."""
KEY_BYTES: Final = 32
_DIGEST_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class UserDigest:
    """Replaces user ids by digests under a key (BLAKE2b, RFC 7693, keyed mode).

    Attributes:
        key: 16 to 64 bytes; whoever has it can recognise a user.
    """

    key: bytes

    def of(self, user_id: int | str) -> str:
        """Return the digest of one user, such as `u-` and 24 hex digits.

        A digest stands for itself, so that a value is never hashed twice. 7 and "7" are one user.
        """
        text = str(user_id)
        if _is_digest(text):
            return text
        mac = hashlib.blake2b(text.encode(), key=self.key[:64], digest_size=_DIGEST_BYTES)
        return f"u-{mac.hexdigest()}"

    def hide(self, value: Json) -> Json:
        """Return a value in which every id under a name of `USER_FIELDS` is a digest."""
        if isinstance(value, Mapping):
            return {
                name: self._ids(inner) if name in USER_FIELDS else self.hide(inner)
                for name, inner in value.items()
            }
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self.hide(inner) for inner in value]
        return value

    def hide_in_text(self, text: str, user_ids: Collection[str]) -> str:
        """Return a text in which the ids, where they stand alone, are digests.

        >>> hidden = UserDigest(b"k" * 16).hide_in_text("user 12: 120 won", {"12"})
        >>> hidden == f"user {UserDigest(b'k' * 16).of(12)}: 120 won"
        True
        """
        for user_id in sorted(user_ids, key=lambda each: (-len(each), each)):
            whole = rf"(?<!\w){re.escape(user_id)}(?!\w)"
            text = re.sub(whole, self.of(user_id), text)
        return text

    def _ids(self, value: Json) -> Json:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | str):
            return self.of(value)
        if isinstance(value, Sequence):
            return [self._ids(inner) for inner in value]
        return self.hide(value)


def user_ids_in(value: Json) -> set[str]:
    """Return every id that stands under a name of `USER_FIELDS`, as text."""
    if isinstance(value, Mapping):
        nested = (
            _leaves(inner) if name in USER_FIELDS else user_ids_in(inner)
            for name, inner in value.items()
        )
        return set().union(*nested)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return set().union(*map(user_ids_in, value))
    return set()


def workspace_user_key(layout: Layout, make: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """Return the workspace's own key, made at first use and readable by its owner only.

    Raises:
        Unavailable: the file is there and holds no key.
    """
    path = layout.eval / "user.key"
    layout.eval.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) < KEY_BYTES:
            raise Unavailable(
                f"{str(path)!r} holds {len(key)} bytes and not a key of {KEY_BYTES}; restore it, "
                "or delete it: runs from before then pair no longer on users"
            ) from None
        return key
    with os.fdopen(descriptor, "wb") as handle:
        key = make(KEY_BYTES)
        handle.write(key)
    return key


def _leaves(value: Json) -> set[str]:
    if value is None or isinstance(value, bool):
        return set()
    if isinstance(value, int | str):
        return {str(value)}
    if isinstance(value, Sequence):
        return set().union(*map(_leaves, value))
    return user_ids_in(value)


def _is_digest(text: str) -> bool:
    digits = text.removeprefix("u-")
    return (
        len(text) == 2 + 2 * _DIGEST_BYTES
        and text != digits
        and all(digit in "0123456789abcdef" for digit in digits)
    )
