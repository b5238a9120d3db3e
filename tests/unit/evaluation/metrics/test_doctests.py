"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

from lifehelper_data.evaluation import metrics

MODULES = [found.name for found in pkgutil.iter_modules(metrics.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    module = importlib.import_module(f"{metrics.__name__}.{name}")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_to_hold() -> None:
    finder = doctest.DocTestFinder()
    found = [
        example
        for name in MODULES
        for test in finder.find(importlib.import_module(f"{metrics.__name__}.{name}"))
        for example in test.examples
    ]
    assert len(found) >= 20
