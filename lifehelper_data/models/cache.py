"""The cache folder: things that are made once and found again, whole or absent."""

import json
import os
import shutil
import socket
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from lifehelper_data.domain.errors import Unavailable


def default_cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return LIFEHELPER_CACHE, else `~/.cache/lifehelper`.

    Args:
        environment: variables to look in; None means the process's own.
    """
    found = os.environ if environment is None else environment
    named = found.get("LIFEHELPER_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "lifehelper"


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """Return the folder `target`, made by `make` unless it is there.

    `make` fills a folder beside it, which is flushed and renamed. Of two processes that make it at
    the same time the first to rename wins; the other discards its own. Folders that killed
    processes of this host left behind are removed.

    Args:
        target: the folder.
        make: writes the content into the empty folder it is given.

    Raises:
        Unavailable: the folder cannot be written.
    """
    if target.is_dir():
        return target
    mine = target.with_name(_temporary_name(target.name))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _discard_leftovers(target)
        mine.mkdir()
        make(mine)
        _flush(mine)
        try:
            mine.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    except OSError as error:
        raise Unavailable(
            f"cannot write {str(target)!r}: {error}; free space, or set LIFEHELPER_CACHE to a "
            "folder that can be written"
        ) from error
    finally:
        shutil.rmtree(mine, ignore_errors=True)
    return target


def write_json(target: Path, value: object) -> None:
    """Write a small JSON file, whole or not at all.

    Raises:
        Unavailable: it cannot be written.
    """
    temporary = target.with_name(_temporary_name(target.name))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(
            json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n", encoding="utf-8"
        )
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise Unavailable(
            f"cannot write {str(target)!r}: {error}; free space, or set LIFEHELPER_CACHE to a "
            "folder that can be written"
        ) from error


def _temporary_name(name: str) -> str:
    return f".{name}.{socket.gethostname()}.{os.getpid()}.{uuid.uuid4().hex}.tmp"


def _discard_leftovers(target: Path) -> None:
    prefix = f".{target.name}.{socket.gethostname()}."
    for folder in target.parent.glob(f"{prefix}*.tmp"):
        owner = folder.name.removeprefix(prefix).partition(".")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _flush(folder: Path) -> None:
    for path in [*sorted(folder.rglob("*")), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
