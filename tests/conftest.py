"""Settings of the whole test set."""

import os

from hypothesis import HealthCheck, settings

# A tmp_path shared by the examples of one test is fine: every example writes its own bytes first.
_SHARED_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=_SHARED_FIXTURES,
)
settings.register_profile("full", settings.get_profile("ci"), max_examples=2000, derandomize=False)
settings.load_profile("full" if os.environ.get("LIFEHELPER_TEST_TIER") == "full" else "ci")


def examples(ci: int) -> int:
    """Examples of a slow property: `ci` of them, twenty times as many in the full tier."""
    return ci * 20 if os.environ.get("LIFEHELPER_TEST_TIER") == "full" else ci
