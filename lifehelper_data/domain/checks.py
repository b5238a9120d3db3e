"""Results of checks on a release, as values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The outcome of one check.

    Attributes:
        name: the check.
        passed: whether it holds.
        blocking: whether a release that fails it may not be promoted.
        detail: what was counted, in one line.
    """

    name: str
    passed: bool
    blocking: bool
    detail: str
