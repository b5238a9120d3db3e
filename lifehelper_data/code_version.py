"""Which code this is: package version and a hash of the package's own source."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from lifehelper_data import __version__

_SUFFIXES: Final = {".py", ".toml", ".tsv", ".json", ".txt", ".html", ".css", ".js"}


@cache
def code_hash() -> str:
    """Return the sha256 of every source and data file of the package, by relative path."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in _SUFFIXES and p.is_file()):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(b"\x00")
        digest.update(path.read_bytes())
        digest.update(b"\x00")
    return digest.hexdigest()


def code_version() -> str:
    """Return version and short code hash, such as `0.1.0+3f2a9c1b`."""
    return f"{__version__}+{code_hash()[:8]}"
