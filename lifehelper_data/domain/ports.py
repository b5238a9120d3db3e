"""What the rules and pipelines need from outside, as protocols."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

Clock = Callable[[], datetime]
"""Returns the current time, timezone-aware, in UTC."""


class Progress(Protocol):
    """Shows how far a long piece of work has come."""

    def step(self, label: str, done: int, total: int | None) -> None:
        """Report `done` of `total` units (None: unknown) of the work called `label`."""
        ...


class NoProgress:
    """A Progress that shows nothing."""

    def step(self, label: str, done: int, total: int | None) -> None:
        """Do nothing."""
