"""Several processes: readers during builds, builders killed, two builders at once, memory."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from lifehelper_data.runtime.workspace import utc_now
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.verify import verify
from tests.integration.build_kit import TABLES_ONLY, TinyShop, build, command, run, store

FULL = os.environ.get("LIFEHELPER_TEST_TIER") == "full"

READER = """
import json, sys, duckdb
path, stop = sys.argv[1:]
import os
queries, errors, mixed, seen = 0, [], 0, set()
while not os.path.exists(stop):
    try:
        with duckdb.connect(path, read_only=True) as connection:
            (books, prices), = connection.execute(
                "SELECT count(DISTINCT price), min(price) FROM books").fetchall()
            (marker,), = connection.execute(
                "SELECT count(*) FROM user_reviews WHERE rating = 0.5").fetchall()
            (number,), = connection.execute(
                "SELECT value::INT FROM release_facts WHERE key = 'number'").fetchall()
    except Exception as error:
        errors.append(repr(error))
        continue
    queries += 1
    seen.add(number)
    if prices != 1000 + marker:
        mixed += 1
print(json.dumps({"queries": queries, "errors": errors, "mixed": mixed, "seen": sorted(seen)}))
"""


def _marked_shop(shop: TinyShop, marker: int) -> None:
    """Write books whose price, and reviews whose number of half stars, say the same number."""
    shop.write(
        "books.csv",
        "book_id,title,price,category",
        [f"{i},책 {i},{1000 + marker},소설" for i in range(1, 21)],
    )
    shop.write(
        "reviews.csv",
        "user_id,book_id,rating,created_at",
        [f"{u},1,{'0.5' if u <= marker else '4.0'},2026-05-01 09:00:00" for u in range(1, 41)],
    )


def test_readers_see_no_error_and_no_mixed_release_during_ten_builds(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    _marked_shop(shop, 0)
    build(tmp_path / "w", shop.mapping)
    stop = tmp_path / "stop"
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path / "w" / "current.duckdb"), str(stop)],
        stdout=subprocess.PIPE,
        text=True,
    )
    for marker in range(1, 11):
        _marked_shop(shop, marker)
        assert build(tmp_path / "w", shop.mapping).release.promoted
    stop.touch()
    output, _ = reader.communicate(timeout=60)
    seen = json.loads(output)
    assert seen["errors"] == []
    assert seen["mixed"] == 0
    assert seen["queries"] >= 10
    assert len(seen["seen"]) >= 2  # it really watched releases change


KILLS = 50 if FULL else 3


def test_kill_at_any_moment_leaves_a_release_that_verifies_and_a_rerun_repairs(
    tmp_path: Path,
) -> None:
    shop = TinyShop.create(tmp_path / "shop", users=200)
    build(tmp_path / "w", shop.mapping)
    started = time.monotonic()
    run("build", "-w", tmp_path / "w", "-s", shop.mapping)  # nothing to do: what starting costs
    start_up = time.monotonic() - started
    moments = random.Random(7)
    killed = 0
    for attempt in range(KILLS):
        shop.write(
            "books.csv",
            "book_id,title,price,category",
            [f"{i},책 {i},{2000 + attempt},소설" for i in range(1, 51)],
        )
        process = subprocess.Popen(
            command("build", "-w", tmp_path / "w", "-s", shop.mapping),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | TABLES_ONLY,
        )  # fmt: skip
        time.sleep(moments.uniform(start_up * 0.6, start_up + 2.5))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        releases = store(tmp_path / "w")
        current = releases.current_number()
        assert current is not None
        assert verify_parts(tmp_path / "w", current) == []
        again = build(tmp_path / "w", shop.mapping)
        assert again.release.in_service
        assert verify(releases, again.release.release.number).ok
        with releases.open() as reader:
            assert reader.rows("SELECT DISTINCT price FROM books") == [(2000 + attempt,)]
    assert killed >= 1  # at least one build really died half-way


def verify_parts(workspace: Path, number: int) -> list[str]:
    """Return the problems of a release other than a stale copy in current.duckdb."""
    report = verify(store(workspace), number)
    return [str(p) for p in report.problems if Path(p.path).name != "current.duckdb"]


def test_of_two_builders_one_waits_or_gives_up_as_asked(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,9701,소설")
    releases = ReleaseStore(Layout(tmp_path / "w"), utc_now, time.sleep)  # alive by the real clock
    with releases.writer_lock().hold():
        refused = run("build", "-w", tmp_path / "w", "-s", shop.mapping, "--lock-wait", 0, expect=3)
        assert refused["error"]["type"] == "WorkspaceLocked"
        assert str(os.getpid()) in refused["error"]["message"]
        waiting = subprocess.Popen(
            command("build", "-w", tmp_path / "w", "-s", shop.mapping),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=os.environ | TABLES_ONLY,
        )  # fmt: skip
        assert waiting.stderr is not None
        said = ""
        while "waiting for" not in said:
            line = waiting.stderr.readline()
            assert line, "the builder ended without waiting"
            said += line
        assert releases.numbers() == [1]
    assert waiting.wait(timeout=60) == 0
    waiting.stderr.close()
    assert releases.current_number() == 2


def test_two_builders_at_once_lose_nothing(tmp_path: Path) -> None:
    shops = [TinyShop.create(tmp_path / f"shop{n}", books=20 + n) for n in range(2)]
    build(tmp_path / "w", shops[0].mapping)
    for round_ in range(2):
        for n, shop in enumerate(shops):
            shop.replace("books.csv", f"{5},책 5,", f"{5},책 다섯 {round_},") if round_ == 0 else (
                shop.replace("books.csv", "책 다섯 0", "책 다섯 1")
            )
            del n
        builders = [
            subprocess.Popen(
                command("build", "-w", tmp_path / "w", "-s", shop.mapping, "--json"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=os.environ | TABLES_ONLY,
            )
            for shop in shops
        ]  # fmt: skip
        outputs = [builder.communicate(timeout=120) for builder in builders]
        for builder, (out, err) in zip(builders, outputs, strict=True):
            assert builder.returncode == 0, (out, err)
        numbers = [json.loads(out)["release"] for out, _ in outputs]
        assert len(set(numbers)) == 2
        releases = store(tmp_path / "w")
        for number, rows in zip(numbers, (20, 21), strict=True):
            assert releases.load(number).content.tables["books"].rows == rows
            assert verify_parts(tmp_path / "w", number) == []
        assert releases.current_number() == max(numbers)


ROWS = 2_000_000 if FULL else 400_000
PEAK_LIMIT_MB = 1_500

MEASURED = """
import re, sys
from pathlib import Path
from lifehelper_data.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    heavy = [m for m in ("torch", "kiwipiepy", "sentence_transformers", "dagster", "lancedb")
             if m in sys.modules]
    # not ru_maxrss: a child inherits that of the process that started it
    status = Path("/proc/self/status").read_text()
    peak_mb = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1000
    print("PEAK", peak_mb, heavy, done.code, file=sys.stderr)
"""


def test_a_large_history_is_built_in_bounded_memory_and_shows_progress(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    chance = random.Random(3)
    with (shop.folder / "purchases.csv").open("w", encoding="utf-8") as handle:
        handle.write("user_id,book_id,purchased_at\n")
        for row in range(ROWS):
            user, book = chance.randrange(200_000), chance.randrange(50)
            handle.write(f"{user},{book},2025-{1 + row % 12:02d}-{1 + row % 28:02d} 10:00:00\n")
    run("init", tmp_path / "w", "--source", shop.mapping)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "build", "-w", str(tmp_path / "w")],
        capture_output=True, text=True, check=False, env=os.environ | TABLES_ONLY,
    )  # fmt: skip
    said = done.stderr.strip().splitlines()
    peak_mb = float(said[-1].split()[1])
    assert said[-1].endswith("[] 0"), said[-1]
    assert peak_mb < PEAK_LIMIT_MB
    assert any(line.startswith("reading purchases.csv: ") for line in said)
    assert any(line.startswith("casting user_purchases: ") for line in said)
    counts = store(tmp_path / "w").load(1).content.table_counts["user_purchases"]
    assert counts.returned == ROWS
    assert counts.balanced
    assert counts.kept + counts.repeated == ROWS
