"""Compiling with numba, kept between processes where a folder can be written.

Importing this module imports numba; import it, and what uses it, inside the function that needs
it. numba notices a change only of the file a function stands in, so a compiled function calls no
compiled function of another file.
"""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled; it does not hold the interpreter's lock while it runs."""
    try:
        kept: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep compiled code in
        kept = numba.njit(nogil=True)(function)
    return kept
