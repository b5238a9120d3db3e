"""`lifehelper bench`: measures what a checkout costs, beside its peers."""

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import lifehelper_data
from lifehelper_data.cli.options import JsonOption, existing_layout
from lifehelper_data.cli.output import err, out, print_json, print_table
from lifehelper_data.domain.errors import EXIT_REFUSED, NotFound, Unavailable

if TYPE_CHECKING:
    from benchmarks.kit import Benchmark, BenchResult

CHECKOUT: Final = Path(lifehelper_data.__file__).parents[1]
HISTORY_FILE: Final = "benchmarks.jsonl"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("bench")(bench)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which benchmarks; without any: the list.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small size that is held against no bar.")
    ] = False,
    workspace: Annotated[
        Path | None,
        typer.Option(
            "--workspace",
            "-w",
            envvar="LIFEHELPER_WORKSPACE",
            help="Workspace that keeps the history; without one the cache folder does.",
        ),
    ] = None,
    history: Annotated[
        Path | None, typer.Option("--history", help="File the result is appended to instead.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure ours beside its peers, quality first; exit 1 if a bar is missed.

    With --json one name gives one document, several give {"benchmarks": [...]}.
    """
    known = load_benchmarks(CHECKOUT)
    if not names:
        _show_list(known, as_json=as_json)
        return
    for name in names:
        if name not in known:
            raise NotFound(f"no benchmark {name!r}; known: {', '.join(known)}", field="name")
    kept_in = _history_file(workspace, history)
    documents: list[dict[str, object]] = []
    all_hold = True
    for name in names:
        document, result = _run(known[name], quick=quick)
        _append(kept_in, document)
        documents.append({**document, "history": str(kept_in)})
        all_hold = all_hold and bool(result.holds)
        if not as_json:
            _show(known[name], result, kept_in, quick=quick)
    if as_json:
        print_json(documents[0] if len(documents) == 1 else {"benchmarks": documents})
    if not all_hold:
        raise typer.Exit(EXIT_REFUSED)


def load_benchmarks(root: Path) -> "dict[str, Benchmark]":
    """Return the benchmarks of a checkout by name, in their listed order.

    Raises:
        Unavailable: `root` is no checkout: benchmarks are not part of the installed package.
    """
    if not (root / "benchmarks" / "kit.py").is_file():
        raise Unavailable(
            f"no benchmarks in {str(root)!r}: they are not part of the installed package; run "
            "`make install` and this command in a checkout of the repository"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    names: tuple[str, ...] = importlib.import_module("benchmarks").NAMES
    return {name: importlib.import_module(f"benchmarks.{name}").BENCHMARK for name in names}


def _run(benchmark: "Benchmark", *, quick: bool) -> "tuple[dict[str, object], BenchResult]":
    """Run a benchmark; return the document that is kept, and the result."""
    from benchmarks.kit import Scale
    from lifehelper_data.cli.progress import RichProgress
    from lifehelper_data.code_version import code_version
    from lifehelper_data.runtime.workspace import utc_now

    scale = Scale.QUICK if quick else Scale.FULL
    at = utc_now().isoformat(timespec="seconds")
    with RichProgress(err) as progress:
        result = benchmark.run(scale, progress)
    document: dict[str, object] = {
        "benchmark": benchmark.name,
        "at": at,
        "scale": scale.value,
        "code_version": code_version(),
        "bar": benchmark.bar,
        "holds": result.holds if scale is Scale.FULL else None,
        **asdict(result),
    }
    return document, result


def _history_file(workspace: Path | None, history: Path | None) -> Path:
    from lifehelper_data.models.cache import default_cache_folder

    if history is not None:
        return history.expanduser()
    if workspace is not None:
        return existing_layout(workspace).root / HISTORY_FILE
    return default_cache_folder() / HISTORY_FILE


def _append(file: Path, document: dict[str, object]) -> None:
    """Add one line; one write, so that two runs do not mix their lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(document, ensure_ascii=False) + "\n")


def _show_list(known: "dict[str, Benchmark]", *, as_json: bool) -> None:
    if as_json:
        listed = [{"name": b.name, "question": b.question, "bar": b.bar} for b in known.values()]
        print_json({"benchmarks": listed})
    else:
        print_table(
            "", ("name", "question", "bar"), ((b.name, b.question, b.bar) for b in known.values())
        )


def _show(benchmark: "Benchmark", result: "BenchResult", kept_in: Path, *, quick: bool) -> None:
    print_table(
        "checked first",
        ("what", "found", "required"),
        ((q.what, _figure(q.value), q.required) for q in result.quality),
    )
    print_table(
        benchmark.question,
        ("what", "ours", "peer", "", "ratio", "bound", "unit", "bar", "holds"),
        (
            (
                r.what, _figure(r.ours), _figure(r.peer), r.peer_name, _figure(r.ratio),
                _figure(r.bound), r.unit, r.bar, r.holds,
            )
            for r in result.rows
        ),
        right=(1, 2, 4, 5),
    )  # fmt: skip
    print_table("machine", ("", ""), ((key, value) for key, value in result.machine.items()))
    for note in result.notes:
        out.print(note, markup=False)
    if quick:
        out.print("--quick: a small size, held against no bar", markup=False)
    out.print(f"kept in {kept_in}", markup=False)


def _figure(value: float | str | None) -> str | None:
    """Return a number with four significant digits."""
    return f"{value:,.4g}" if isinstance(value, float) else value
