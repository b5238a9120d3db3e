"""What a suite must have to be registered, and what a scorer must return."""

from typing import Any

import pytest

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.evaluation.cases import Case, Unit
from lifehelper_data.evaluation.registry import Registry
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.evaluation.suite import (
    Metric,
    NotApplicable,
    Output,
    References,
    Score,
    Suite,
    Undefined,
)
from lifehelper_data.evaluation.suites import suites

NOTHING = NotApplicable("not here")


def metric(name: str, **more: Any) -> Metric:
    rule = MetricRule(name=name, higher_is_better=True, margin=0.1, gated=False, kind="mean")
    return Metric(rule=rule, meaning="", **more)


def suite(**changes: Any) -> Suite:
    given: dict[str, Any] = {
        "name": "toy",
        "question": "?",
        "metrics": (metric("a", primary=True), metric("b")),
        "make_cases": lambda _: None,
        "user_cases": None,
        "systems": {"system": lambda _: lambda _: Output(value=None)},
        "references": References(
            do_nothing=NOTHING, always_refuse=NOTHING, random=NOTHING, popularity=NOTHING
        ),
        "score": lambda *_: Score(values={}),
        "scorer": "toy-1",
    }
    return Suite(**(given | changes))


def test_a_suite_is_found_by_name() -> None:
    registry = Registry()
    made = registry.register(suite())
    assert registry.get("toy") is made
    assert registry.names() == ("toy",)
    with pytest.raises(NotFound, match="no suite 'other'; known: toy"):
        registry.get("other")


@pytest.mark.parametrize("missing", ["do_nothing", "always_refuse", "random", "popularity"])
def test_references_cannot_be_made_without_one(missing: str) -> None:
    given: dict[str, Any] = dict.fromkeys(
        ("do_nothing", "always_refuse", "random", "popularity"), NOTHING
    )
    del given[missing]
    with pytest.raises(TypeError, match=missing):
        References(**given)


def test_a_suite_cannot_be_made_without_references() -> None:
    with pytest.raises(TypeError, match="references"):
        Suite(  # type: ignore[call-arg]  # the point: the type checker refuses it as well
            name="toy", question="?", metrics=(metric("a", primary=True),), make_cases=None,
            user_cases=None, systems={}, score=lambda *_: Score(values={}), scorer="1",
        )  # fmt: skip


@pytest.mark.parametrize("reference", [None, "later", 0.0])
def test_a_reference_that_is_neither_system_nor_reason_is_refused(reference: Any) -> None:
    references = References(
        do_nothing=NOTHING, always_refuse=NOTHING, random=reference, popularity=NOTHING
    )
    with pytest.raises(TypeError, match="reference 'random' is"):
        Registry().register(suite(references=references))


def test_no_references_at_all_are_refused_at_registration() -> None:
    with pytest.raises(TypeError, match="has no References"):
        Registry().register(suite(references=None))


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_not_applicable_needs_a_reason(reason: str) -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        NotApplicable(reason)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "Toy suite"}, "lower case"),
        ({"metrics": (metric("a", primary=True), metric("a"))}, "a metric twice"),
        ({"metrics": (metric("a"),)}, "no primary metric"),
        ({"systems": {}}, "at least one"),
        ({"systems": {"random": lambda _: NOTHING}}, "none called as a reference"),
        ({"make_cases": None}, "no cases"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Registry().register(suite(**changes))


def test_a_name_is_taken_once() -> None:
    registry = Registry()
    registry.register(suite())
    with pytest.raises(ValueError, match="registered already"):
        registry.register(suite())


def test_scores_have_every_metric_and_every_unit() -> None:
    made = suite(metrics=(metric("a", primary=True), metric("claims", per_unit=True)))
    units = (Unit(unit_id="1"), Unit(unit_id="2"))
    case = Case(case_id="c", family="c", input=None, units=units)
    good = Score(values={"a": 1.0, "claims": {"2": 0.0, "1": Undefined("why")}})
    assert made.checked(case, good) is good
    for claims in ({"1": 1.0}, {"1": 1.0, "2": 1.0, "3": 1.0}, 1.0):
        with pytest.raises(ValueError, match="expected values for"):
            made.checked(case, Score(values={"a": 1.0, "claims": claims}))
    with pytest.raises(ValueError, match="is inf"):
        made.checked(case, Score(values={"a": 1.0, "claims": {"1": float("inf"), "2": 0.0}}))


def test_a_metric_per_unit_of_a_case_without_units_is_one_value() -> None:
    made = suite(metrics=(metric("claims", primary=True, per_unit=True),))
    case = Case(case_id="c", family="c", input=None)
    made.checked(case, Score(values={"claims": Undefined("no claim")}))
    with pytest.raises(ValueError, match="expected values for"):
        made.checked(case, Score(values={"claims": {}}))


def test_the_packages_suites_register() -> None:
    assert "search" in suites().names()
