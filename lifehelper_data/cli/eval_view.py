"""How evaluation runs are shown: yardsticks beside every number, denominators under it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lifehelper_data.cli.output import out, print_table
from lifehelper_data.evaluation.failures import CaseView, Failure
from lifehelper_data.evaluation.scoring import Rescored
from lifehelper_data.stores.eval_records import RunRecord, RunStatus
from lifehelper_data.stores.eval_rows import MetricRow, OutputRow, ScoreRow
from lifehelper_data.stores.eval_scores import Scoring


def run_json(
    record: RunRecord,
    scoring: Scoring,
    *,
    resumed: int | None = None,
    worst: Sequence[Failure] = (),
) -> dict[str, object]:
    """Return a run with its metrics, JSON-ready."""
    return {
        **record.to_dict(),
        "resumed_outputs": resumed,
        "scoring": scoring.record.to_dict(),
        "metrics": [asdict(row) for row in scoring.metrics],
        "failures": [
            {
                "case_id": failure.case.case_id,
                "input": json.loads(failure.case.input),
                **_score_json(failure.score),
            }
            for failure in worst
        ],
    }


def show_run(
    record: RunRecord,
    scoring: Scoring,
    *,
    resumed: int | None = None,
    worst: Sequence[Failure] = (),
    slices: bool = False,
) -> None:
    """Print a run: head, metrics of all systems side by side, slices, failures."""
    _show_head(record, resumed)
    whole = [row for row in scoring.metrics if not row.slice_name]
    cells = {(row.system, row.metric): row for row in whole}
    systems = _systems_first(record, whole)
    print_table(
        title_of(record),
        ("metric", *systems),
        (
            (_named(metric), *(_cell(cells[system, str(metric["name"])]) for system in systems))
            for metric in scoring.record.metrics
        ),
    )
    for name, reason in _not_applicable(record).items():
        out.print(f"{name}: not applicable, {reason}", markup=False)
    if slices:
        _show_slices(scoring)
    if worst:
        print_table(
            f"worst cases of {worst[0].score.system} by {worst[0].score.metric}",
            ("case", "input", "value", "why"),
            (
                (f.case.case_id, f.case.input, _value(f.score), f.score.explanation or None)
                for f in worst
            ),
        )


def title_of(record: RunRecord) -> str:
    """Return the title of a run: its suite and the kind of its data."""
    return f"{record.pins.suite} ({record.facts['data']} data): {record.facts['question']}"


def heads_json(records: Sequence[RunRecord]) -> dict[str, object]:
    """Return the list of runs, JSON-ready."""
    return {"runs": [record.to_dict() for record in records]}


def show_heads(records: Sequence[RunRecord]) -> None:
    """Print the list of runs."""
    if not records:
        out.print("no eval run yet; make one with `lifehelper eval run search`", markup=False)
        return
    print_table(
        "",
        ("run", "suite", "data", "label", "status", "begun (UTC)", "release", "cases", "code"),
        (
            (
                r.run_id, r.pins.suite, r.facts["data"], r.label, r.status, r.created_at,
                r.pins.release and str(r.pins.release.number), r.cases, r.pins.code_version,
            )
            for r in records
        ),
        right=(6, 7),
    )  # fmt: skip


def case_json(seen: CaseView) -> dict[str, object]:
    """Return everything about a case, JSON-ready."""
    case = seen.case
    return {
        "case_id": case.case_id,
        "family": case.family,
        "slices": json.loads(case.slices),
        "input": json.loads(case.input),
        "target": json.loads(case.target),
        "note": case.note,
        "outputs": [_output_json(row) for row in seen.outputs],
        "scores": [_score_json(row) for row in seen.scores],
    }


def show_case(seen: CaseView) -> None:
    """Print everything about a case."""
    case = seen.case
    print_table(
        f"case {case.case_id}",
        ("what", "value"),
        [
            (name, getattr(case, name))
            for name in ("input", "target", "family", "slices", "units", "note")
            if getattr(case, name) not in ("", "[]", "{}")
        ],
    )
    print_table(
        "outputs",
        ("system", "answer", "ms", "cost"),
        ((o.system, o.value or f"{o.error_type}: {o.error}", f"{o.ms:.1f}", o.cost)
         for o in seen.outputs),
        right=(2, 3),
    )  # fmt: skip
    print_table(
        "scores",
        ("system", "metric", "unit", "value", "why"),
        ((s.system, s.metric, s.unit or None, _value(s), s.explanation) for s in seen.scores),
        right=(3,),
    )


def rescored_json(done: Rescored) -> dict[str, object]:
    """Return a rescoring, JSON-ready."""
    return {
        "run_id": done.run_id,
        "before": done.before,
        "scoring": done.scoring.record.to_dict(),
        "identical": done.identical,
        "changes": [asdict(change) for change in done.changes],
    }


def show_rescored(done: Rescored) -> None:
    """Print what another scoring changed."""
    number = done.scoring.record.number
    if done.identical:
        out.print(f"run {done.run_id}: the same numbers, scoring {number} stays", markup=False)
        return
    out.print(f"run {done.run_id}: scoring {number} beside scoring {done.before}", markup=False)
    if not done.changes:
        out.print("no number changed; explanations or intervals did", markup=False)
        return
    print_table(
        "changed",
        ("system", "metric", "before", "after", "cases"),
        ((c.system, c.metric, _number(c.before), _number(c.after), c.cases) for c in done.changes),
        right=(2, 3, 4),
    )


def _show_head(record: RunRecord, resumed: int | None) -> None:
    pins = record.pins
    release = "no release" if pins.release is None else f"release {pins.release.number}"
    parts = [f"run {record.run_id}", *([record.label] if record.label else []), release]
    parts += [f"{record.cases:,} cases", f"seed {pins.seed}", f"code {pins.code_version}"]
    out.print(", ".join(parts), markup=False)
    if resumed is not None:
        out.print(f"taken up again after {resumed:,} stored outputs", markup=False)
    if record.status is RunStatus.STOPPED:
        out.print(
            f"stopped at the cost limit of {record.max_cost}; what is left counts as missing. Go "
            f"on with `lifehelper eval run --resume {record.run_id} --max-cost N`",
            markup=False,
        )
    repeats: Any = record.facts["repeats"]
    notes: Any = record.facts["notes"]
    if repeats:
        shown = ", ".join(f"{r['case_id']} ({r['reason']} as {r['kept']})" for r in repeats[:5])
        out.print(
            f"{len(repeats)} repeated cases count once: {shown}{'…' * (len(repeats) > 5)}",
            markup=False,
        )
    for note in notes:
        out.print(note, markup=False)


def _show_slices(scoring: Scoring) -> None:
    primary = {metric["name"] for metric in scoring.record.metrics if metric["primary"]}
    rows = [row for row in scoring.metrics if row.slice_name and row.metric in primary]
    if rows:
        print_table(
            "slices of the primary metrics",
            ("slice", "system", "metric", "value", "mind"),
            (
                (f"{r.slice_name} = {r.slice_value}", r.system, r.metric, _cell(r), r.warning)
                for r in rows
            ),
        )


def _systems_first(record: RunRecord, rows: Sequence[MetricRow]) -> list[str]:
    """Return the systems, those under test before the references."""
    references = {row.system for row in rows if row.reference}
    return sorted(record.pins.systems, key=lambda name: name in references)


def _not_applicable(record: RunRecord) -> dict[str, Any]:
    value: Any = record.facts["not_applicable"]
    return dict(value)


def _named(metric: Any) -> str:
    arrow = "↑" if metric["higher_is_better"] else "↓"
    return f"{metric['name']} {arrow}{' (primary)' if metric['primary'] else ''}"


def _cell(row: MetricRow) -> str:
    """Return mean, interval and denominators in three lines."""
    interval = "no interval" if row.low is None else f"{_number(row.low)}–{_number(row.high)}"
    counts = f"{row.evaluated}+{row.undefined}u+{row.missing}m={row.total}"
    return f"{_number(row.mean)}\n{interval}\n{counts}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _value(row: ScoreRow) -> str:
    return f"{row.status}: {row.reason}" if row.value is None else f"{row.value:.4f}"


def _score_json(row: ScoreRow) -> dict[str, object]:
    return {
        "system": row.system,
        "metric": row.metric,
        "unit": row.unit,
        "status": row.status,
        "value": row.value,
        "reason": row.reason,
        "explanation": row.explanation,
    }


def _output_json(row: OutputRow) -> dict[str, object]:
    value = None if row.value is None else json.loads(row.value)
    error = None if row.error_type is None else {"type": row.error_type, "message": row.error}
    return {
        "system": row.system,
        "value": value,
        "error": error,
        "ms": row.ms,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost": row.cost,
    }
