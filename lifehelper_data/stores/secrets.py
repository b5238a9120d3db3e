"""Keys that a workspace keeps for itself."""

import os
import secrets
from pathlib import Path
from typing import Final

from lifehelper_data.stores.layout import Layout

KEY_BYTES: Final = 32


def cursor_key(layout: Layout) -> bytes:
    """Return the workspace's key for cursors; the first caller makes it.

    A workspace that cannot be written to gives a key that lives as long as the process.
    """
    path = layout.cursor_key
    known = _read(path)
    if known is not None:
        return known
    fresh = secrets.token_bytes(KEY_BYTES)
    try:
        _write_new(path, fresh)
    except FileExistsError:
        pass  # another process was faster
    except OSError:
        return _PROCESS_KEYS.setdefault(path, fresh)
    return _read(path) or _PROCESS_KEYS.setdefault(path, fresh)


def _read(path: Path) -> bytes | None:
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return None
    return found if len(found) == KEY_BYTES else None


def _write_new(path: Path, key: bytes) -> None:
    """Make the file whole: written beside it and linked, so that nobody reads half a key."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        if path.exists() and _read(path) is None:
            temporary.replace(path)  # what is there is no key
        else:
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


_PROCESS_KEYS: Final[dict[Path, bytes]] = {}
