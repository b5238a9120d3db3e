"""The other side of a measurement: `python -m benchmarks._worker JOB ...` in a process of its own.

Jobs that answer questions read one JSON document a line on stdin and write one a line on stdout.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()  # before anything of ours is imported


def main(arguments: list[str]) -> None:
    """Run a job."""
    job, *rest = arguments
    match job:
        case "build":
            _build(Path(rest[0]), Path(rest[1]))
        case "queries":
            _queries(int(rest[0]) or None)
        case "search":
            _search(Path(rest[0]))
        case _:
            raise SystemExit(f"no job {job!r}")


class _Embedded:
    """A Progress that counts the texts that are embedded, and the seconds until they can be."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.loading_s = 0.0
        self._loading_since: float | None = None

    def step(self, label: str, done: int, total: int | None) -> None:
        """Keep the total of every embedding; loading lasts until whatever comes next."""
        del done
        now = time.perf_counter()
        if self._loading_since is not None:
            self.loading_s += now - self._loading_since
        self._loading_since = now if label == "loading the encoder" else None
        if label.startswith("embedding ") and total is not None:
            self.texts[label.removeprefix("embedding ")] = total


def _build(workspace: Path, mapping: Path) -> None:
    """Build a workspace and say what was done and how long it took."""
    from lifehelper_data.pipelines.build import build_all
    from lifehelper_data.pipelines.context import BuildContext
    from lifehelper_data.runtime.workspace import utc_now
    from lifehelper_data.settings import Settings
    from lifehelper_data.stores.layout import Layout
    from lifehelper_data.stores.releases import ReleaseStore

    layout = Layout(workspace)
    layout.create()
    embedded = _Embedded()
    context = BuildContext(layout=layout, settings=Settings(), clock=utc_now, progress=embedded)
    done = build_all(context, ReleaseStore(layout, utc_now, time.sleep), mapping)
    content = done.release.release.content
    _say(
        {
            "inside_s": time.perf_counter() - STARTED,
            "build_s": done.seconds,
            "asset_s": {report.record.asset: report.seconds for report in done.assets},
            "reused": {report.record.asset: report.reused for report in done.assets},
            "published": done.release.published,
            "embedded": embedded.texts,
            "loading_s": embedded.loading_s,
            "analysed": {
                report.record.asset: 0 if report.reused else report.record.facts["texts_analysed"]
                for report in done.assets
                if "texts_analysed" in report.record.facts
            },
            "identities": {
                **{name: table.identity for name, table in content.tables.items()},
                **{name: artifact.identity for name, artifact in content.artifacts.items()},
            },
        }
    )


def _queries(threads: int | None) -> None:
    """Embed queries one by one, as a search does."""
    from lifehelper_data.models.load import EncoderSettings, load_query_encoder

    encoder = load_query_encoder(EncoderSettings(threads=threads))
    _say({"precision": encoder.precision})
    for texts in _asked():
        taken, vectors = [], []
        for text in texts:
            started = time.perf_counter()
            vector = encoder.encode_queries([text])[0]
            taken.append(1000 * (time.perf_counter() - started))
            vectors.append(vector.tolist())
        _say({"ms": taken, "vectors": vectors})


def _search(workspace: Path) -> None:
    """Search one query after the other in an opened workspace."""
    from lifehelper_data.runtime.workspace import Workspace

    with Workspace.open(workspace) as opened:
        opened.search_engine().preload()
        _say({"ready": True})
        for queries in _asked():
            taken, degraded, found = [], [], []
            for query in queries:
                started = time.perf_counter()
                response = opened.search({"query": query})
                taken.append(1000 * (time.perf_counter() - started))
                degraded.append(response.degraded)
                found.append(len(response.results))
            _say({"ms": taken, "degraded": degraded, "found": found})


def _asked() -> Iterator[Any]:
    for line in sys.stdin:
        yield json.loads(line)


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
