"""When each contract table was last loaded, also by loads that found nothing new."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lifehelper_data.stores.atomic import write_json
from lifehelper_data.stores.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTime:
    """One table's last successful load.

    Attributes:
        loaded_at: when it ended.
        watermark: the newest time its rows bear; None if they bear none.
    """

    loaded_at: datetime
    watermark: datetime | None


def save_load_times(layout: Layout, at: datetime, watermarks: Mapping[str, str | None]) -> None:
    """Note that every table of `watermarks` (ISO times) was loaded at `at`; others keep theirs."""
    known = _read(_file(layout))
    for table, watermark in watermarks.items():
        known[table] = {"loaded_at": at.isoformat(), "watermark": watermark}
    write_json(_file(layout), known)


def load_load_times(layout: Layout) -> Mapping[str, LoadTime]:
    """Return the last load by table; empty before the first, or if the file is damaged."""
    try:
        return {
            table: LoadTime(
                loaded_at=datetime.fromisoformat(str(times["loaded_at"])),
                watermark=(
                    datetime.fromisoformat(times["watermark"]) if times["watermark"] else None
                ),
            )
            for table, times in _read(_file(layout)).items()
        }
    except (KeyError, ValueError, TypeError):
        return {}


def _read(path: Path) -> dict[str, dict[str, str | None]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _file(layout: Layout) -> Path:
    return layout.builds / "load_times.json"
