"""`lifehelper eval …`: run suites, look at runs, compare them, score them again."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    ConfigOption,
    JsonOption,
    ReleaseOption,
    WorkspaceOption,
    existing_layout,
    workspace_settings,
)
from lifehelper_data.cli.output import err, print_json, print_table
from lifehelper_data.domain.errors import InvalidRequest

if TYPE_CHECKING:
    from lifehelper_data.evaluation.suite import Suite
    from lifehelper_data.stores.eval_runs import EvalRuns

app = typer.Typer(
    help="Measure a release: every number with its denominator, interval and yardsticks.",
    no_args_is_help=True,
)

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="An id or its beginning, a label, or 'latest'.")
]


def _runs(workspace: Path) -> "EvalRuns":
    from lifehelper_data.evaluation.runs import open_runs

    return open_runs(workspace)


def _suite(runs: "EvalRuns", run_id: str) -> "Suite":
    from lifehelper_data.evaluation.suites import suites

    return suites().get(runs.load(run_id).pins.suite)


@app.command("run")
def run(
    suite: Annotated[
        list[str] | None, typer.Argument(metavar="SUITE…", help="Such as: search.")
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    release: ReleaseOption = "current",
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="Configuration to try; default: the tunables the release was built with.",
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="JSON lines instead of the suite's own cases."),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="What to call the run.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, help="Generate nothing more once it cost so much."),
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Finish this run.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run suites on a pinned release. A killed run with the same pins is taken up again."""
    from lifehelper_data.cli.eval_view import run_json, show_run
    from lifehelper_data.cli.progress import RichProgress
    from lifehelper_data.evaluation.runner import Runner
    from lifehelper_data.evaluation.runner_setup import Asked
    from lifehelper_data.evaluation.suites import suites

    layout = existing_layout(workspace)
    settings = workspace_settings(layout, config)
    asked = Asked(
        evaluation=settings.evaluation,
        settings=settings if config is not None else None,
        release=release,
        cases_file=cases,
        label=label,
        max_cost=max_cost,
    )
    runs = _runs(workspace)
    if (resume is None) == (not suite):
        known = ", ".join(suites().names())
        raise InvalidRequest(
            f"name suites ({known}) or a run to --resume, one of the two", field="suite"
        )
    if cases is not None and suite is not None and len(suite) > 1:
        raise InvalidRequest("--cases goes with one suite", field="cases")
    with RichProgress(err) as progress:
        runner = Runner(runs=runs, timer=time.perf_counter, progress=progress)
        if resume is not None:
            run_id = runs.resolve(resume)
            done = [runner.resume(_suite(runs, run_id), run_id, asked)]
        else:
            chosen = [suites().get(name) for name in dict.fromkeys(suite or ())]
            done = [runner.run(each, asked) for each in chosen]
    if as_json:
        print_json({"runs": [run_json(d.record, d.scoring, resumed=d.resumed) for d in done]})
        return
    for each in done:
        show_run(each.record, each.scoring, resumed=each.resumed)


@app.command("list")
def list_runs(workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """List all runs, oldest first."""
    from lifehelper_data.cli.eval_view import heads_json, show_heads

    runs = _runs(workspace)
    if as_json:
        print_json(heads_json(runs.records()))
    else:
        show_heads(runs.records())


@app.command("show")
def show(
    run_ref: RunArgument = "latest",
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    failures: Annotated[
        int, typer.Option("--failures", min=0, help="Worst cases to list, with the reason.")
    ] = 5,
    case: Annotated[
        str | None, typer.Option("--case", metavar="ID", help="Everything about one case.")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Whose failures; default: the one in service.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: its metrics beside its yardsticks, and where it failed."""
    from lifehelper_data.cli.eval_view import case_json, run_json, show_case, show_run
    from lifehelper_data.evaluation.failures import look_at_case, worst_cases
    from lifehelper_data.stores.eval_scores import load_scoring

    runs = _runs(workspace)
    run_id = runs.resolve(run_ref)
    record, chosen = runs.load(run_id), _suite(runs, run_id)
    if case is not None:
        seen = look_at_case(runs, run_id, case)
        if as_json:
            print_json(case_json(seen))
        else:
            show_case(seen)
        return
    scoring = load_scoring(runs, run_id)
    worst = worst_cases(runs, chosen, scoring, run_id, count=failures, system=system)
    if as_json:
        print_json(run_json(record, scoring, worst=worst))
    else:
        show_run(record, scoring, worst=worst, slices=True)


@app.command("compare")
def compare(
    base: Annotated[str, typer.Argument(help="The run to compare with: id, label or 'latest'.")],
    new: Annotated[str, typer.Argument(help="The run that may be better.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    config: ConfigOption = None,
    system: Annotated[
        str | None, typer.Option("--system", help="System of both; default: the one in service.")
    ] = None,
    base_system: Annotated[
        str | None,
        typer.Option("--base-system", help="System of the base run, such as popularity."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs of one suite, paired on the same cases, with a verdict per metric."""
    from lifehelper_data.cli.eval_compare_view import comparison_json, show_comparison
    from lifehelper_data.evaluation.compare import compare_runs

    runs = _runs(workspace)
    base_id, new_id = runs.resolve(base), runs.resolve(new)
    found = compare_runs(
        runs,
        _suite(runs, base_id),
        base_id,
        new_id,
        settings=workspace_settings(runs.layout, config).evaluation,
        base_system=base_system or system,
        new_system=system,
    )
    if as_json:
        print_json(comparison_json(found))
    else:
        show_comparison(found)


@app.command("rescore")
def rescore(
    run_ref: RunArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Score stored outputs again; needs no model, no release and no network."""
    from lifehelper_data.cli.eval_view import rescored_json, show_rescored
    from lifehelper_data.evaluation.scoring import rescore as score_again

    runs = _runs(workspace)
    run_id = runs.resolve(run_ref)
    done = score_again(runs, _suite(runs, run_id), run_id)
    if as_json:
        print_json(rescored_json(done))
    else:
        show_rescored(done)


@app.command("sql")
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT, such as: from eval_metrics limit 5")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Write all rows to a .parquet, .csv or .jsonl file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Query all runs: eval_runs, eval_cases, eval_outputs, eval_scores, eval_metrics."""
    from lifehelper_data.stores.eval_query import query_runs, write_frame

    frame = query_runs(_runs(workspace), query)
    if to is not None:
        write_frame(frame, to)
    if as_json:
        rows = [] if to is not None else [list(row) for row in frame.rows()]
        print_json({"columns": frame.columns, "rows": rows, "count": frame.height})
    elif to is None:
        print_table("", frame.columns, frame.head(SHOWN_ROWS).rows())
        if frame.height > SHOWN_ROWS:
            err.print(f"first {SHOWN_ROWS} of {frame.height:,} rows; --out FILE writes all")


SHOWN_ROWS = 100
