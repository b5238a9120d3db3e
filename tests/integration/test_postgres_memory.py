"""Memory does not grow with the table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.build_kit import ROOT
from tests.integration.postgres_kit import VARIABLE, Database

CHILD = """
import os, resource, sys
from pathlib import Path
from lifehelper_data.sources.load import SourceReader

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
held = {}
for name in ("full", "incremental"):
    scratch = folder / name
    scratch.mkdir()
    with SourceReader(source, scratch, memory_limit="200MB") as reader:
        reader.read_database(os.environ, held)
        read = reader.reads["books"]
        assert read.mode == name
        held = {"books": read.replica or held["books"]}
    print(read.rows_read, read.digest)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.full
@pytest.mark.timeout(3000)
def test_ten_times_the_rows_need_no_more_memory(tmp_path: Path) -> None:
    """Rows pass in batches; what sorts and hashes keeps to `run.memory_limit` and spills."""
    database = Database.create()
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    peaks = {}
    for rows in (300_000, 1_500_000):
        database.run(
            "DROP TABLE IF EXISTS b",
            "CREATE TABLE b AS SELECT n AS book_id, 'title ' || n AS title, "
            "md5(n::text) AS author, repeat(md5((-n)::text), 10) AS description, "
            "timestamptz '2024-01-01' + n * interval '1 second' AS updated_at "
            f"FROM generate_series(1, {rows}) n",
        )
        source = tmp_path / f"{rows}.toml"
        source.write_text(
            f'[postgres]\nuri_env = "{VARIABLE}"\n'
            '[tables.books]\nquery = "select * from b"\n'
            'incremental = {column = "updated_at", lookback = "1 hour"}\n'
        )
        folder = tmp_path / str(rows)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, str(child), str(source), str(folder)],
            env=os.environ | {VARIABLE: database.uri, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        full, incremental, peak = done.stdout.splitlines()
        assert full.split()[0] == str(rows)
        assert incremental.split() == ["3601", full.split()[1]]  # an hour and both its ends
        peaks[rows] = int(peak)
    # 1.2 million further rows are about 550 MB of text
    assert peaks[1_500_000] < peaks[300_000] + 100, peaks
