"""The suites there are, by name; a suite joins here and is checked when it does."""

import re
from typing import Final

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.evaluation.suite import REFERENCE_NAMES, NotApplicable, References, Suite

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")


class Registry:
    """Suites by name, in the order they were registered."""

    def __init__(self) -> None:
        self._suites: dict[str, Suite] = {}

    def register(self, suite: Suite) -> Suite:
        """Add a suite.

        Raises:
            TypeError: its references are not there, or one is neither a system nor NotApplicable.
            ValueError: a name is taken or unusable, or there is no metric, primary metric, system
                or source of cases.
        """
        _require_references(suite)
        name = suite.name
        if not _NAME.fullmatch(name):
            raise ValueError(f"suite name {name!r}: use lower case letters, digits and hyphens")
        if name in self._suites:
            raise ValueError(f"suite {name!r} is registered already; choose another name")
        metrics = [metric.name for metric in suite.metrics]
        if len(set(metrics)) != len(metrics):
            raise ValueError(f"suite {name!r} names a metric twice: {metrics!r}")
        if not any(metric.primary for metric in suite.metrics):
            raise ValueError(f"suite {name!r} has no primary metric; mark one of {metrics!r}")
        if not suite.systems or set(suite.systems) & set(REFERENCE_NAMES):
            raise ValueError(
                f"suite {name!r} has systems {list(suite.systems)!r}; give at least one, and none "
                f"called as a reference ({', '.join(REFERENCE_NAMES)})"
            )
        if suite.make_cases is None and suite.user_cases is None:
            raise ValueError(f"suite {name!r} has no cases; give make_cases or user_cases")
        self._suites[name] = suite
        return suite

    def get(self, name: str) -> Suite:
        """Return a suite.

        Raises:
            NotFound: there is none of that name.
        """
        if name not in self._suites:
            raise NotFound(
                f"no suite {name!r}; known: {', '.join(self._suites) or 'none'}", field="suite"
            )
        return self._suites[name]

    def names(self) -> tuple[str, ...]:
        """Return the names of all suites."""
        return tuple(self._suites)


def _require_references(suite: Suite) -> None:
    """Refuse a suite whose score would stand without yardsticks."""
    if not isinstance(suite.references, References):
        raise TypeError(
            f"suite {suite.name!r} has no References: say what doing nothing, refusing, random and "
            "popularity get, or NotApplicable(reason)"
        )
    for name, reference in suite.references.items():
        if not (callable(reference) or isinstance(reference, NotApplicable)):
            raise TypeError(
                f"suite {suite.name!r}: reference {name!r} is {reference!r}; give a system or "
                "NotApplicable(reason)"
            )
