"""How the comparison of two runs is shown: a verdict per metric, with what it rests on."""

from dataclasses import asdict

from lifehelper_data.cli.output import out, print_table
from lifehelper_data.evaluation.compare import RunComparison
from lifehelper_data.evaluation.statistics.comparison import Comparison


def comparison_json(found: RunComparison) -> dict[str, object]:
    """Return a comparison, JSON-ready."""
    return {
        "base": found.base.run_id,
        "new": found.new.run_id,
        "suite": found.base.pins.suite,
        "base_system": found.base_system,
        "new_system": found.new_system,
        "pairing": {**asdict(found.pairing), "note": found.pairing.note},
        "metrics": [_metric_json(each) for each in found.metrics],
        "slices": [
            {
                "slice": part.name,
                "value": part.value,
                "warning": part.warning,
                **_metric_json(part.comparison),
            }
            for part in found.slices
        ],
        "notes": list(found.notes),
    }


def show_comparison(found: RunComparison) -> None:
    """Print a comparison."""
    base, new = found.base, found.new
    for head, record, system in (("base", base, found.base_system), ("new", new, found.new_system)):
        label = f" ({record.label})" if record.label else ""
        out.print(f"{head}: {record.run_id}{label}, {system}", markup=False)
    for note in [*([found.pairing.note] if found.pairing.note else []), *found.notes]:
        out.print(note, markup=False)
    print_table(
        f"{base.pins.suite} ({new.facts['data']} data)",
        ("metric", "base", "new", "effect", "95 % interval", "p Holm", "margin", "verdict",
         "pairs", "detectable"),
        (
            (
                each.rule.name, _number(each.base_mean), _number(each.new_mean),
                _signed(each.effect), _interval(each), _p(each.p_holm), f"{each.rule.margin:g}",
                each.verdict, _pairs(each), _number(each.detectable),
            )
            for each in found.metrics
        ),
        right=(1, 2, 3, 5, 6, 9),
    )  # fmt: skip
    warned: dict[str, list[str]] = {}
    for each in found.metrics:
        if each.interval is not None and each.interval.warning:
            warned.setdefault(each.interval.warning, []).append(each.rule.name)
    for warning, names in warned.items():
        out.print(f"{', '.join(names)}: {warning}", markup=False)
    if found.slices:
        print_table(
            "slices of the primary metrics",
            ("slice", "metric", "effect", "95 % interval", "p Holm", "verdict", "pairs", "mind"),
            (
                (
                    f"{s.name} = {s.value}", s.comparison.rule.name, _signed(s.comparison.effect),
                    _interval(s.comparison), _p(s.comparison.p_holm), s.comparison.verdict,
                    _pairs(s.comparison), s.warning,
                )
                for s in found.slices
            ),
            right=(2, 4),
        )  # fmt: skip


def _metric_json(each: Comparison) -> dict[str, object]:
    interval = each.interval
    return {
        "metric": each.rule.name,
        "higher_is_better": each.rule.higher_is_better,
        "base": each.base_mean,
        "new": each.new_mean,
        "effect": each.effect,
        "interval": None if interval is None else asdict(interval),
        "p": each.p,
        "p_holm": each.p_holm,
        "margin": each.rule.margin,
        "gated": each.rule.gated,
        "verdict": str(each.verdict),
        "reason": each.reason,
        "evaluated": each.counts.evaluated,
        "undefined": each.counts.undefined,
        "missing": each.counts.missing,
        "total": each.counts.total,
        "minimal_detectable_effect": each.detectable,
    }


def _pairs(each: Comparison) -> str:
    counts = each.counts
    return f"{counts.evaluated}+{counts.undefined}u+{counts.missing}m={counts.total}"


def _interval(each: Comparison) -> str:
    found = each.interval
    return "–" if found is None else f"{_signed(found.low)} to {_signed(found.high)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
