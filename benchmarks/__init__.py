"""What the platform costs, one file per question, run by `lifehelper bench NAME`.

Every module named here has a `BENCHMARK`. Modules with a leading underscore serve them.
"""

from typing import Final

NAMES: Final = ("encoder", "hybrid", "increments", "keyword", "metrics", "start", "vectors")
