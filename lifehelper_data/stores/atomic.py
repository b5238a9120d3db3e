"""Files that are whole or absent: write beside, flush to disk, rename."""

import json
import os
import uuid
from pathlib import Path


def replace_file(temporary: Path, target: Path) -> None:
    """Flush `temporary` to disk and rename it to `target`, replacing what is there."""
    with temporary.open("rb+") as handle:
        os.fsync(handle.fileno())
    temporary.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(target: Path, text: str) -> None:
    """Write a small text file atomically."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        replace_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(target: Path, value: object) -> None:
    """Write a value as JSON atomically, keys sorted."""
    write_text(target, json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n")
