"""What a suite is: one question, its cases, the systems asked, the scorer, and its yardsticks.

Generating and scoring are apart: `systems` turn cases into outputs with whatever they need (a
release, a language model), `score` turns a stored case and a stored output into numbers with
nothing else at hand. So outputs can be scored again without a model, a release or a network.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from lifehelper_data.evaluation.cases import Case, CaseSet, Unit
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.settings import EvaluationSettings
from lifehelper_data.stores.eval_records import Json
from lifehelper_data.stores.eval_users import UserDigest


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a system answered to one case.

    Attributes:
        value: the answer, JSON-ready: everything the scorer needs, and what a reader wants to see.
            Suites with several trials per case put all of them here.
        ms: milliseconds, where the system measures them itself; None: the runner's clock.
        input_tokens: tokens a language model read; None without one.
        output_tokens: tokens it wrote.
        cost: in the currency of the configuration.
    """

    value: Json
    ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float = 0.0


Generate: TypeAlias = Callable[[Case], Output]
"""Answers one case. A LifehelperError makes the case missing; any other error is a bug."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Why a system does not apply. Printed; never a pass.

    Attributes:
        reason: one line, not blank.
    """

    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("NotApplicable needs a reason that a reader can judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteContext:
    """What cases and systems are made from.

    Attributes:
        workspace: the pinned release; None for a suite that reads none.
        evaluation: seed, sample sizes.
        users: stands for user ids in case ids and families.
    """

    workspace: Workspace | None
    evaluation: EvaluationSettings
    users: UserDigest

    @property
    def release(self) -> Workspace:
        """The pinned release of a suite that reads one."""
        if self.workspace is None:
            raise ValueError("this suite is registered with reads_release = False")
        return self.workspace


Open: TypeAlias = Callable[[SuiteContext], Generate | NotApplicable]
"""Loads what a system needs and returns it, or says why it does not apply here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """What a score is seen beside. None may be left out; one that makes no sense says why.

    Attributes:
        do_nothing: the empty answer.
        always_refuse: the answer that declines.
        random: an answer drawn by (seed, case), the same in any order of cases.
        popularity: the same popular answer to everybody.
    """

    do_nothing: Open | NotApplicable
    always_refuse: Open | NotApplicable
    random: Open | NotApplicable
    popularity: Open | NotApplicable

    def items(self) -> Iterator[tuple[str, Open | NotApplicable]]:
        """Yield name and reference, in order."""
        for each in fields(self):
            yield each.name, getattr(self, each.name)


REFERENCE_NAMES: Final = tuple(each.name for each in fields(References))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number a suite measures.

    Attributes:
        rule: name, direction, margin, kind; its margin is a default that settings replace.
        meaning: one line.
        primary: whether it answers the suite's question; failures are listed by the first one.
        best: the value that cannot be improved, so that a case with it is no failure; None: there
            is none.
        per_unit: whether every unit of a case has a value of its own.
    """

    rule: MetricRule
    meaning: str
    primary: bool = False
    best: float | None = None
    per_unit: bool = False

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.rule.name


@dataclass(frozen=True, slots=True)
class Undefined:
    """The metric says nothing here; never 0 and never 1.

    Attributes:
        reason: why.
    """

    reason: str


Value: TypeAlias = float | Undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the scorer says of one output.

    Attributes:
        values: metric -> value; for a metric per unit of a case with units, unit id -> value.
        explanation: what a reader needs to understand the values.
    """

    values: Mapping[str, Value | Mapping[str, Value]]
    explanation: str = ""


CaseModel: TypeAlias = type[BaseModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCases:
    """The format of cases that a user brings, one JSON object per line.

    Attributes:
        model: what a line must be; its JSON Schema documents the format.
        to_case: makes a case of a checked line.
        notes: what the release says of them, such as labelled items it does not have.
    """

    model: CaseModel
    to_case: Callable[[Any], Case]
    notes: Callable[[SuiteContext, CaseSet], tuple[str, ...]] = lambda _context, _cases: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One question that can be asked of a release, a prompt or a model.

    Attributes:
        name: lower case, letters, digits and hyphens.
        question: what it answers, in one sentence.
        metrics: what it measures, in the order of its tables.
        make_cases: its own cases; None if it has none and users bring them.
        user_cases: format of cases that users bring; None if it takes none.
        systems: what is asked, by name; the first is the one in service.
        references: yardsticks; names are those of `References`.
        score: the scorer: a function of case and output and of nothing else.
        scorer: version of the scorer; raise it when its numbers change.
        reads_release: whether it needs a pinned release.
    """

    name: str
    question: str
    metrics: tuple[Metric, ...]
    make_cases: Callable[[SuiteContext], CaseSet] | None
    user_cases: UserCases | None
    systems: Mapping[str, Open]
    references: References
    score: Callable[[Case, Output], Score]
    scorer: str
    reads_release: bool = True
    _by_name: Mapping[str, Metric] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {m.name: m for m in self.metrics})

    def metric(self, name: str) -> Metric:
        """Return a metric by name."""
        return self._by_name[name]

    @property
    def primary(self) -> Metric:
        """The first primary metric."""
        return next(metric for metric in self.metrics if metric.primary)

    def checked(self, case: Case, score: Score) -> Score:
        """Return a score that has exactly the declared metrics and units.

        Raises:
            ValueError: a bug of the scorer: a metric or unit too many or too few, or a value that
                is not finite.
        """
        wanted = {metric.name: _wanted_units(metric, case.units) for metric in self.metrics}
        found = {name: _found_units(value) for name, value in score.values.items()}
        if found != wanted:
            raise ValueError(
                f"scorer of suite {self.name!r}, case {case.case_id!r}: expected values for "
                f"{wanted!r}, got {found!r}"
            )
        for name, value in score.values.items():
            for one in value.values() if isinstance(value, Mapping) else (value,):
                if not isinstance(one, Undefined) and not math.isfinite(one):
                    raise ValueError(
                        f"scorer of suite {self.name!r}, case {case.case_id!r}: {name!r} is "
                        f"{one!r}; a metric that says nothing is Undefined"
                    )
        return score


def _wanted_units(metric: Metric, units: tuple[Unit, ...]) -> tuple[str, ...] | None:
    return tuple(sorted(u.unit_id for u in units)) if metric.per_unit and units else None


def _found_units(value: Value | Mapping[str, Value]) -> tuple[str, ...] | None:
    return tuple(sorted(value)) if isinstance(value, Mapping) else None
