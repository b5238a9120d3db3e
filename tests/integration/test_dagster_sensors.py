"""What starts a load from outside the clock, how it is read, and who hears of a failed run."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dagster as dg
import pytest

from dagster_project import sensors
from dagster_project.resources import WorkspaceResource
from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.errors import LoadRefused, Unavailable
from lifehelper_data.pipelines.build_tables import build_tables
from tests.integration.build_kit import TinyShop
from tests.integration.dagster_kit import Cockpit, open_cockpit

GLOB_MAPPING = """
naive_timezone = "Asia/Seoul"
[files.raw_books]
path = "books*.csv"
[tables.books]
sql = "select * from raw_books"
"""
DATABASE_MAPPING = """
[postgres]
uri_env = "SHOP_DATABASE_URI"
[tables.books]
query = "select book_id, title from books"
"""


@pytest.fixture
def cockpit(tmp_path: Path) -> Iterator[Cockpit]:
    """A shop of tables only, nothing built yet."""
    TinyShop.create(tmp_path / "shop")
    with open_cockpit(tmp_path) as opened:
        yield opened


def looked(cockpit: Cockpit, cursor: str | None = None) -> dg.SensorResult | dg.SkipReason:
    """Let the sensor look at the source."""
    workspace = WorkspaceResource(path=str(cockpit.workspace))
    context = dg.build_sensor_context(
        instance=cockpit.instance, cursor=cursor, resources={"workspace": workspace}
    )
    answer = sensors.source_changed(context)
    assert isinstance(answer, dg.SensorResult | dg.SkipReason)
    return answer


def cursor_after(answer: dg.SensorResult | dg.SkipReason) -> str:
    """Return the cursor of a request."""
    assert isinstance(answer, dg.SensorResult), answer
    assert answer.cursor is not None
    return answer.cursor


def test_a_source_seen_first_is_loaded(cockpit: Cockpit) -> None:
    answer = looked(cockpit)
    assert isinstance(answer, dg.SensorResult)
    (request,) = answer.run_requests or []
    assert request.run_key == answer.cursor
    (seen,) = answer.asset_events
    assert isinstance(seen, dg.AssetObservation)
    assert seen.asset_key == dg.AssetKey("source")
    assert seen.metadata["files"].value == 3
    sizes = [p.stat().st_size for p in cockpit.shop.folder.glob("*.csv")]
    assert seen.metadata["bytes"].value == sum(sizes)


def test_an_unchanged_source_is_left_alone(cockpit: Cockpit) -> None:
    again = looked(cockpit, cursor_after(looked(cockpit)))
    assert isinstance(again, dg.SkipReason)
    assert again.skip_message == "3 files, none changed"


def test_a_rewritten_file_is_loaded_also_if_its_size_is_the_same(cockpit: Cockpit) -> None:
    before = cursor_after(looked(cockpit))
    path = cockpit.shop.folder / "books.csv"
    stamp = path.stat().st_mtime_ns
    cockpit.shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,9701,소설")
    os.utime(path, ns=(stamp + 1_000_000, stamp + 1_000_000))
    assert cursor_after(looked(cockpit, before)) != before


def test_a_changed_mapping_is_loaded(cockpit: Cockpit) -> None:
    before = cursor_after(looked(cockpit))
    text = cockpit.shop.mapping.read_text(encoding="utf-8")
    cockpit.shop.mapping.write_text(text + "# as agreed\n", encoding="utf-8")
    assert cursor_after(looked(cockpit, before)) != before


def test_a_file_that_a_glob_finds_is_loaded_and_so_is_its_loss(cockpit: Cockpit) -> None:
    cockpit.shop.mapping.write_text(GLOB_MAPPING, encoding="utf-8")
    one = cursor_after(looked(cockpit))
    cockpit.shop.write("books-new.csv", "book_id,title,price,category", ["99,새 책,9000,소설"])
    two = looked(cockpit, one)
    assert isinstance(two, dg.SensorResult)
    (seen,) = two.asset_events
    assert isinstance(seen, dg.AssetObservation)
    assert seen.metadata["files"].value == 2
    (cockpit.shop.folder / "books-new.csv").unlink()
    assert cursor_after(looked(cockpit, cursor_after(two))) == one


def test_a_database_is_left_to_its_schedules(cockpit: Cockpit) -> None:
    cockpit.shop.mapping.write_text(DATABASE_MAPPING, encoding="utf-8")
    answer = looked(cockpit)
    assert isinstance(answer, dg.SkipReason)
    assert answer.skip_message == "the source is a database; its schedules read it"


def test_the_sensor_starts_the_job_that_loads() -> None:
    assert sensors.source_changed.job_name == "load_tables"
    assert sensors.source_changed.default_status is dg.DefaultSensorStatus.RUNNING


@pytest.mark.parametrize(("job", "full"), [("load_tables", False), ("full_read", True)])
def test_only_the_nightly_job_reads_the_whole_source(
    cockpit: Cockpit, monkeypatch: pytest.MonkeyPatch, job: str, full: bool
) -> None:
    asked: list[object] = []

    def noted(*given: object, **how: object) -> BuildReport:
        asked.append(how["full_read"])
        return build_tables(*given, **how)  # type: ignore[arg-type] # forwards

    monkeypatch.setattr("dagster_project.assets.tables.build_tables", noted)
    cockpit.run_job(job)
    assert asked == [full]


class _Hook(BaseHTTPRequestHandler):
    """Keeps what is posted to it, and answers with a status."""

    status: int
    posted: list[tuple[str, str, dict[str, object]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.posted.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def listening(
    status: int = 204,
) -> Iterator[tuple[str, list[tuple[str, str, dict[str, object]]]]]:
    """Listen on a port of this machine; yields the address and what was posted."""
    posted: list[tuple[str, str, dict[str, object]]] = []
    handler = type("Hook", (_Hook,), {"posted": posted, "status": status})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failed_run(cockpit: Cockpit) -> dg.RunFailureSensorContext:
    """Let a load fail for a reason the source gives; return what the failure hook is told."""
    cockpit.shop.write("books.csv", "book_id,title,price,category", ["x,책,9000,소설"])
    run = cockpit.run_job("load_tables", must_succeed=False)
    assert not run.success
    workspace = WorkspaceResource(path=str(cockpit.workspace))
    return dg.build_run_status_sensor_context(
        sensor_name="failure_webhook",
        dagster_event=run.get_run_failure_event(),
        dagster_instance=cockpit.instance,
        dagster_run=run.dagster_run,
        resources={"workspace": workspace},
    ).for_run_failure()


def test_a_failed_run_is_posted_with_step_and_reason(cockpit: Cockpit) -> None:
    with listening() as (address, posted):
        config = cockpit.layout.config_file
        hook = f'[alerts]\nwebhook_url = "{address}/hook/s3cret"\n'
        config.write_text(config.read_text(encoding="utf-8") + hook, encoding="utf-8")
        context = failed_run(cockpit)
        assert sensors.failure_webhook(context) is None
    ((path, kind, document),) = posted
    assert (path, kind) == ("/hook/s3cret", "application/json")
    assert document["event"] == "run_failed"
    assert document["job"] == "load_tables"
    assert document["run_id"] == context.dagster_run.run_id
    assert document["retry_of"] is None
    steps = document["steps"]
    assert isinstance(steps, dict)
    assert list(steps) == ["tables"]
    assert LoadRefused.__name__ in steps["tables"]
    assert "table 'books': 1 of 1 rows have a bad value (book_id 1" in steps["tables"]
    assert "\n" not in steps["tables"]


def test_nobody_is_told_if_no_address_is_set(cockpit: Cockpit) -> None:
    answer = sensors.failure_webhook(failed_run(cockpit))
    assert isinstance(answer, dg.SkipReason)
    assert answer.skip_message == "alerts.webhook_url is not set"


def test_a_dead_address_is_named_without_its_secret(cockpit: Cockpit) -> None:
    with listening() as (address, _):
        pass  # the port is free again: nobody listens
    config = cockpit.layout.config_file
    hook = f'[alerts]\nwebhook_url = "{address}/hook/s3cret?token=t0ken"\ntimeout_s = 2\n'
    config.write_text(config.read_text(encoding="utf-8") + hook, encoding="utf-8")
    with pytest.raises(Unavailable, match=r"webhook at '127\.0\.0\.1'") as caught:
        sensors.failure_webhook(failed_run(cockpit))
    assert "alerts.webhook_url" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "t0ken" not in str(caught.value)


def test_an_answer_that_is_an_error_is_not_taken_for_delivery(cockpit: Cockpit) -> None:
    with listening(status=404) as (address, posted):
        config = cockpit.layout.config_file
        hook = f'[alerts]\nwebhook_url = "{address}/hook"\n'
        config.write_text(config.read_text(encoding="utf-8") + hook, encoding="utf-8")
        with pytest.raises(Unavailable, match="404"):
            sensors.failure_webhook(failed_run(cockpit))
    assert len(posted) == 1  # it was sent
