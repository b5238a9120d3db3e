"""A suite that needs no release: sums. And runs of it in a temporary workspace."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.evaluation.cases import Case, CaseSet, DataKind, Unit
from lifehelper_data.evaluation.runner import Done, Runner
from lifehelper_data.evaluation.runner_setup import Asked
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.evaluation.suite import (
    Generate,
    Metric,
    NotApplicable,
    Output,
    References,
    Score,
    Suite,
    SuiteContext,
    Undefined,
    UserCases,
    Value,
)
from lifehelper_data.settings import EvaluationSettings
from lifehelper_data.stores.eval_rows import MetricRow
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.layout import Layout
from tests.integration.release_kit import ManualClock


def rule(name: str, *, higher: bool = True, margin: float = 0.05, kind: Any = "mean") -> MetricRule:
    return MetricRule(name=name, higher_is_better=higher, margin=margin, gated=False, kind=kind)


class Line(BaseModel):
    """A sum that a user brings."""

    model_config = ConfigDict(extra="forbid", strict=True)

    case_id: str
    a: int
    b: int
    user_id: int | None = None


def sum_case(number: int, a: int, b: int, **more: Any) -> Case:
    return Case(
        case_id=f"sum-{number}",
        family=f"family-{number}",
        input={"a": a, "b": b},
        target=None if a + b > 90 else a + b,
        slices={"size": "small" if a + b < 20 else "big"},
        **more,
    )


def line_case(line: Line) -> Case:
    asked: dict[str, Any] = {"a": line.a, "b": line.b}
    if line.user_id is not None:
        asked["user_id"] = line.user_id
    return Case(case_id=line.case_id, family=line.case_id, input=asked, target=line.a + line.b)


@dataclass
class Adder:
    """A system under test: adds, costs 1 per answer, and notes what it was asked.

    Attributes:
        fails: inputs `a` for which it is unavailable.
        wrong: inputs `a` for which it is off by one.
        dies_after: answers after which the process is interrupted.
    """

    fails: frozenset[int] = frozenset()
    wrong: frozenset[int] = frozenset()
    dies_after: int | None = None
    asked: list[str] = field(default_factory=list)

    def __call__(self, case: Case) -> Output:
        if self.dies_after is not None and len(self.asked) >= self.dies_after:
            raise KeyboardInterrupt
        self.asked.append(case.case_id)
        given: Any = case.input
        if given["a"] in self.fails:
            raise Unavailable(f"model down for user {given.get('user_id')!r}")
        answer = given["a"] + given["b"] + (given["a"] in self.wrong)
        return Output(value={"sum": answer} | _user(given), cost=1.0, output_tokens=3)


def _user(given: Any) -> dict[str, Any]:
    return {"user_id": given["user_id"]} if "user_id" in given else {}


def score_sum(case: Case, output: Output) -> Score:
    """Score a sum; undefined where the right one is not known."""
    value: Any = output.value
    target: Any = case.target
    if target is None:
        lost = Undefined("no sum above 90 is known")
        values: dict[str, Value] = {"correct": lost, "error": lost}
    else:
        off = abs(value["sum"] - target)
        values = {"correct": float(off == 0), "error": float(off)}
    return Score(values=values, explanation=f"said {value['sum']}, is {target}")


def constant(answer: int) -> Callable[[SuiteContext], Generate]:
    return lambda _: lambda _case: Output(value={"sum": answer})


REFERENCES = References(
    do_nothing=constant(0),
    always_refuse=NotApplicable("a sum cannot be refused"),
    random=constant(-1),
    popularity=constant(10),
)
METRICS = (
    Metric(rule=rule("correct", kind="proportion"), meaning="right sums", primary=True, best=1.0),
    Metric(rule=rule("error", higher=False), meaning="distance from the sum"),
)


def sums(adder: Generate, *, count: int = 40, **changes: Any) -> Suite:
    """A suite of `count` different sums: a = i, b = 2 i; sums above 90 are undefined."""
    suite = Suite(
        name="sums",
        question="Can it add?",
        metrics=METRICS,
        make_cases=lambda _: CaseSet.of(
            DataKind.GENERATED, [sum_case(i, i, 2 * i) for i in range(count)]
        ),
        user_cases=UserCases(model=Line, to_case=line_case),
        systems={"adder": lambda _: adder},
        references=REFERENCES,
        score=score_sum,
        scorer="sums-1",
        reads_release=False,
    )
    return dataclasses.replace(suite, **changes)


def numbered_ids() -> Callable[[datetime], str]:
    """Ids that sort by time and are the same in every test."""
    made: list[str] = []

    def new(now: datetime) -> str:
        made.append(f"{now:%Y%m%dT%H%M%S}-{len(made):04d}")
        return made[-1]

    return new


class Ticks:
    """A timer that goes on by a quarter of a second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


def workspace_runs(root: Path) -> EvalRuns:
    """The runs of an empty workspace, with a clock that a test moves."""
    layout = Layout(root)
    layout.create()
    return EvalRuns(layout, ManualClock(), numbered_ids())


def evaluation(**values: Any) -> EvaluationSettings:
    """Settings with few resamples and small chunks."""
    return EvaluationSettings(**({"resamples": 500, "chunk_cases": 4} | values))


def run(runs: EvalRuns, suite: Suite, **asked: Any) -> Done:
    """Run a suite."""
    settings = asked.pop("evaluation", evaluation())
    return Runner(runs=runs, timer=Ticks()).run(suite, Asked(evaluation=settings, **asked))


def whole(done: Done, metric: str, system: str = "adder") -> MetricRow:
    """Return the row of a metric over all cases."""
    (row,) = (
        row
        for row in done.scoring.metrics
        if (row.system, row.metric, row.slice_name) == (system, metric, "")
    )
    return row


def case_with_units(case_id: str, units: dict[str, str]) -> Case:
    """A case with claims of some kinds."""
    return Case(
        case_id=case_id,
        family=case_id,
        input={"draft": case_id},
        units=tuple(Unit(unit_id=u, slices={"kind": k}) for u, k in units.items()),
    )
