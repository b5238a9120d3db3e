"""Is the new run better? Paired on the same cases, metric by metric."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.failures import system_of
from lifehelper_data.evaluation.runs import case_of
from lifehelper_data.evaluation.scoring_metrics import (
    Column,
    columns_of,
    configured_rule,
    family_numbers,
    slice_labels,
)
from lifehelper_data.evaluation.statistics.comparison import (
    Comparison,
    MetricRule,
    Paired,
    compare_all,
)
from lifehelper_data.evaluation.statistics.slices import SliceComparison, compare_slices
from lifehelper_data.evaluation.suite import Suite
from lifehelper_data.settings import EvaluationSettings
from lifehelper_data.stores.eval_records import RunRecord, RunStatus
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import load_scoring


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How the cases of two runs match.

    Attributes:
        same: cases of equal id and content.
        only_base: cases that only the base run has.
        only_new: cases that only the new run has.
        changed: cases of equal id and other content (input, labels, slices); never paired.
    """

    same: int
    only_base: int
    only_new: int
    changed: int

    @property
    def note(self) -> str | None:
        """What a reader must know; None if both runs have the same cases."""
        if not (self.only_base or self.only_new or self.changed):
            return None
        return (
            f"the runs have different cases: {self.same} are in both and were compared; counted "
            f"as missing: {self.only_base} only in the base run, {self.only_new} only in the new "
            f"one, {self.changed} with equal id and other content"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Two runs of one suite.

    Attributes:
        base: head of the base run.
        new: head of the new run.
        base_system: system looked at in the base run.
        new_system: system looked at in the new run.
        pairing: how the cases match.
        metrics: all metrics of the suite, in its order, p values corrected across them (Holm).
        slices: the primary metrics on every slice, p values corrected over the slices of a name.
        notes: what else differs: scorer, kind of data, code.
    """

    base: RunRecord
    new: RunRecord
    base_system: str
    new_system: str
    pairing: Pairing
    metrics: tuple[Comparison, ...]
    slices: tuple[SliceComparison, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """A run as far as a comparison needs it: columns of one system, digest of every case."""

    columns: Mapping[str, Column]
    digests: Mapping[str, str]
    scorer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One unit of two runs; NaN without a value, a side that lacks the case is missing."""

    base: float
    new: float
    base_missing: bool
    new_missing: bool
    family: str
    slices: dict[str, str]


def compare_runs(
    runs: EvalRuns,
    suite: Suite,
    base_id: str,
    new_id: str,
    *,
    settings: EvaluationSettings,
    base_system: str | None = None,
    new_system: str | None = None,
) -> RunComparison:
    """Compare two runs of one suite; without a name the system in service of each.

    Cases are paired where id and content are equal; every other case of either run counts as
    missing. A run compared with itself shows no difference.

    Raises:
        InvalidRequest: the runs are of different suites, a run has no such system, or a margin
            names a metric that the suite does not have.
    """
    base, new = runs.load(base_id), runs.load(new_id)
    if {base.pins.suite, new.pins.suite} != {suite.name}:
        raise InvalidRequest(
            f"run {base_id!r} is of suite {base.pins.suite!r} and run {new_id!r} of "
            f"{new.pins.suite!r}; compare two runs of one suite",
            field="run",
        )
    require_known_margins(suite, settings)
    base_name = system_of(suite, base, base_system)
    new_name = system_of(suite, new, new_system)
    was, now = _scored(runs, base, base_name), _scored(runs, new, new_name)
    both = [m for m in suite.metrics if m.name in was.columns and m.name in now.columns]
    rules = {m.name: configured_rule(m, suite.name, settings) for m in both}
    joined = {m.name: _joined(was, now, m.name) for m in both}
    pairs = {name: _paired(rules[name], each) for name, each in joined.items()}
    how = {"seed": settings.seed, "resamples": settings.resamples}
    return RunComparison(
        base=base,
        new=new,
        base_system=base_name,
        new_system=new_name,
        pairing=_pairing(was, now),
        metrics=compare_all(list(pairs.values()), **how),
        slices=tuple(
            part
            for metric in both
            if metric.primary
            for name, labels in slice_labels([each.slices for each in joined[metric.name]])
            for part in compare_slices(pairs[metric.name], name=name, labels=labels, **how)
        ),
        notes=tuple(_notes(suite, base, new, was, now)),
    )


def require_known_margins(suite: Suite, settings: EvaluationSettings) -> None:
    """Refuse a margin for a metric that a suite does not have.

    Raises:
        InvalidRequest: names the setting.
    """
    known = {f"{suite.name}.{metric.name}" for metric in suite.metrics}
    for name in settings.margins:
        if name.split(".")[0] == suite.name and name not in known:
            raise InvalidRequest(
                f"setting evaluation.margins.{name!r} names no metric; known: "
                f"{', '.join(sorted(known))}",
                field="evaluation.margins",
            )


def _scored(runs: EvalRuns, record: RunRecord, system: str) -> _Scored:
    rows = runs.cases(record.run_id)
    scoring = load_scoring(runs, record.run_id)
    columns = columns_of(
        [case_of(row) for row in rows], [row for row in scoring.scores if row.system == system]
    )
    return _Scored(
        columns={metric: column for (_, metric), column in columns.items()},
        digests={row.case_id: row.digest for row in rows},
        scorer=scoring.record.scorer,
    )


def _joined(was: _Scored, now: _Scored, metric: str) -> list[_Pair]:
    """Match the units of two runs: those of the base run first, then those only the new one has.

    A case of equal id and other content is two cases: one that only the base has, and one that
    only the new run has.
    """
    base, new = was.columns[metric], now.columns[metric]
    shared = {case for case, digest in was.digests.items() if now.digests.get(case) == digest}
    at = {key: place for place, key in enumerate(new.keys)}
    pairs = []
    for place, key in enumerate(base.keys):
        other = at[key] if key[0] in shared else None
        pairs.append(
            _Pair(
                base=float(base.values[place]),
                new=np.nan if other is None else float(new.values[other]),
                base_missing=bool(base.missing[place]),
                new_missing=other is None or bool(new.missing[other]),
                family=base.families[place],
                slices=base.slices[place],
            )
        )
    pairs += [
        _Pair(
            base=np.nan,
            new=float(new.values[place]),
            base_missing=True,
            new_missing=bool(new.missing[place]),
            family=new.families[place],
            slices=new.slices[place],
        )
        for place, key in enumerate(new.keys)
        if key[0] not in shared
    ]
    return pairs


def _paired(rule: MetricRule, pairs: list[_Pair]) -> Paired:
    return Paired(
        rule=rule,
        base=np.array([pair.base for pair in pairs], dtype=np.float64),
        new=np.array([pair.new for pair in pairs], dtype=np.float64),
        base_missing=np.array([pair.base_missing for pair in pairs], dtype=np.bool_),
        new_missing=np.array([pair.new_missing for pair in pairs], dtype=np.bool_),
        clusters=family_numbers([pair.family for pair in pairs]),
    )


def _pairing(was: _Scored, now: _Scored) -> Pairing:
    same = sum(now.digests.get(case) == digest for case, digest in was.digests.items())
    common = len(was.digests.keys() & now.digests.keys())
    return Pairing(
        same=same,
        only_base=len(was.digests) - common,
        only_new=len(now.digests) - common,
        changed=common - same,
    )


def _notes(
    suite: Suite, base: RunRecord, new: RunRecord, was: _Scored, now: _Scored
) -> Iterator[str]:
    if was.scorer != now.scorer:
        yield (
            f"scored by different scorers ({was.scorer!r} and {now.scorer!r}); run `lifehelper "
            "eval rescore` on both first"
        )
    elif now.scorer != suite.scorer:
        yield f"scored by {now.scorer!r}, this package has {suite.scorer!r}"
    if base.facts["data"] != new.facts["data"]:
        yield f"different kinds of data: {base.facts['data']} and {new.facts['data']}"
    before, after = base.pins.to_dict(), new.pins.to_dict()
    differing = [name for name in before if before[name] != after[name]]
    if differing:
        yield f"the runs differ in: {', '.join(sorted(differing))}"
    else:
        yield "the runs have the same pins"
    unfinished = [r.run_id for r in (base, new) if r.status is not RunStatus.COMPLETE]
    if unfinished:
        yield f"not complete: {', '.join(dict.fromkeys(unfinished))}"
