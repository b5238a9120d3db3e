"""Putting a keyword index on disk under the hash of its content."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.search.bm25 import Bm25
from lifehelper_data.stores.atomic import sync_folder, write_json
from lifehelper_data.stores.keyword_index import FORMAT_VERSION, META_FILE, Array, KeywordIndex


def write_index(
    parent: Path, arrays: Iterable[tuple[str, Array]], version: str, bm25: Bm25
) -> tuple[Path, str, int]:
    """Write an index whole or not at all: beside, flushed to disk, then renamed.

    Args:
        parent: folder of all keyword indexes; created if missing.
        arrays: file name and content of every array.
        version: analyser and rules that the tokens come from.
        bm25: formula and parameters of the impacts.

    Returns:
        The folder `parent/<identity>`, the identity, and the bytes of all arrays. A usable index
        of that identity that is there already is left as it is.
    """
    parent.mkdir(parents=True, exist_ok=True)
    temporary = parent / f".{uuid.uuid4().hex}.tmp"
    temporary.mkdir()
    try:
        files: dict[str, dict[str, object]] = {}
        size = 0
        for name, values in arrays:
            size += _save(temporary / name, values)
            files[name] = _entry(temporary / name)
        described = {
            "format_version": FORMAT_VERSION,
            "analysis_version": version,
            "bm25": asdict(bm25),
        }
        identity = _identity(described, files)
        write_json(temporary / META_FILE, {**described, "identity": identity, "files": files})
        return _publish(temporary, parent / identity), identity, size
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _save(path: Path, values: Array) -> int:
    with path.open("wb") as handle:
        np.save(handle, np.ascontiguousarray(values), allow_pickle=False)
        handle.flush()
        os.fsync(handle.fileno())
        return handle.tell()


def _entry(path: Path) -> dict[str, object]:
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _identity(described: Mapping[str, object], files: Mapping[str, Mapping[str, object]]) -> str:
    # Impacts follow from the rest and are floats: the identity is made of what they follow from.
    logical = {n: e["sha256"] for n, e in files.items() if ".posting_" not in n}
    text = json.dumps({**described, "files": logical}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _publish(temporary: Path, target: Path) -> Path:
    sync_folder(temporary)
    if target.exists():
        try:
            KeywordIndex.open(target)
        except Unavailable:  # left over or damaged: what was just built takes its place
            aside = temporary.with_name(f".{uuid.uuid4().hex}.tmp")
            target.rename(aside)
            shutil.rmtree(aside)
        else:
            os.utime(target)  # it is in use again
            return target
    temporary.rename(target)
    sync_folder(target.parent)
    return target
