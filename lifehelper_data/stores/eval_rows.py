"""The rows of a stored evaluation run: cases, outputs, scores, metrics."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lifehelper_data.stores.eval_records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One stored case; the last five hold JSON texts.

    Attributes:
        seq: its place in the run, from 0.
        case_id: its key.
        family: cases of one family depend on each other and are resampled together.
        digest: digest of everything below: equal in two runs if it is the same case.
        slices: slice name -> value.
        input: what the system is asked.
        target: what is known of the right answer.
        units: scored parts, `[{"unit_id": …, "slices": {…}}]`; empty if the case is the unit.
        note: why it was labelled so; null without.
    """

    seq: int
    case_id: str
    family: str
    digest: str
    slices: str
    input: str
    target: str
    units: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRow:
    """What one system answered to one case.

    Attributes:
        system: the system asked.
        seq: place of the case.
        case_id: the case.
        value: the answer as JSON text; None if generating failed.
        error_type: class of the error; None if it did not fail.
        error: its message.
        ms: milliseconds it took. The only columns two runs of equal pins may differ in are this
            and, with a live model, what the model decides.
        input_tokens: tokens read by a language model; None without one.
        output_tokens: tokens written by it.
        cost: cost in the currency of the configuration.
    """

    system: str
    seq: int
    case_id: str
    value: str | None
    error_type: str | None
    error: str | None
    ms: float
    input_tokens: int | None
    output_tokens: int | None
    cost: float


class ScoreStatus(StrEnum):
    """What became of one metric of one unit."""

    EVALUATED = "evaluated"
    UNDEFINED = "undefined"  # the metric says nothing here: no relevant item, no claim
    MISSING = "missing"  # there is no output


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One metric of one unit under one system.

    Attributes:
        system: the system.
        seq: place of the case.
        case_id: the case.
        unit: the scored part; empty if the case is the unit.
        metric: name of the metric.
        status: evaluated, undefined or missing.
        value: the value; None unless evaluated.
        reason: why it is undefined or missing; None if evaluated.
        explanation: what a reader needs to understand the value; None if missing.
    """

    system: str
    seq: int
    case_id: str
    unit: str
    metric: str
    status: str
    value: float | None
    reason: str | None
    explanation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of one system, over all cases or over one slice.

    evaluated + undefined + missing = total, always.

    Attributes:
        system: the system.
        reference: whether it is a reference system (doing nothing, random, …).
        metric: name of the metric.
        slice_name: empty for all cases.
        slice_value: empty for all cases.
        mean: mean over the evaluated units; None without any.
        low: lower end of the 95 % interval; None without one.
        high: its upper end.
        method: how the interval was made.
        warning: what to keep in mind; None if nothing.
        evaluated: units with a value.
        undefined: units where the metric says nothing.
        missing: units without an output.
        total: all units.
    """

    system: str
    reference: bool
    metric: str
    slice_name: str
    slice_value: str
    mean: float | None
    low: float | None
    high: float | None
    method: str | None
    warning: str | None
    evaluated: int
    undefined: int
    missing: int
    total: int

    def __post_init__(self) -> None:
        if self.evaluated + self.undefined + self.missing != self.total:
            raise ValueError(
                f"{self.metric!r} of {self.system!r}: {self.evaluated} evaluated + "
                f"{self.undefined} undefined + {self.missing} missing is not {self.total}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRecord:
    """Which code turned outputs into scores: `scoring.json`.

    Attributes:
        number: 1 for the scoring a run ended with; later ones come from rescoring.
        created_at: when, UTC.
        scorer: version the suite gives its scorer.
        code_version: version of the package.
        code_hash: hash of its source.
        seed: seed of the resampling.
        resamples: resamples per interval.
        metrics: name, direction, kind, whether primary, whether per unit; as JSON.
        rows_digest: digest of all score and metric rows: equal numbers, equal digest.
    """

    number: int
    created_at: datetime
    scorer: str
    code_version: str
    code_hash: str
    seed: int
    resamples: int
    metrics: tuple[Mapping[str, Json], ...]
    rows_digest: str

    def to_dict(self) -> dict[str, Any]:
        """Return the record JSON-ready."""
        return {
            **asdict(self),
            "created_at": self.created_at.isoformat(),
            "metrics": [dict(metric) for metric in self.metrics],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "ScoringRecord":
        """Read what `to_dict` gave."""
        return cls(
            **{
                **value,
                "created_at": datetime.fromisoformat(value["created_at"]),
                "metrics": tuple(value["metrics"]),
            }
        )
