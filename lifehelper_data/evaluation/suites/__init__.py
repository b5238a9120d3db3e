"""One suite per question. `suites()` gives all of them."""

from functools import cache

from lifehelper_data.evaluation.registry import Registry


@cache
def suites() -> Registry:
    """Return the registry of this package's suites."""
    from lifehelper_data.evaluation.suites.search import SEARCH
    from lifehelper_data.evaluation.suites.search_particles import SEARCH_PARTICLES

    registry = Registry()
    registry.register(SEARCH)
    registry.register(SEARCH_PARTICLES)
    return registry
