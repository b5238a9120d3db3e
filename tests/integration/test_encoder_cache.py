import subprocess
from pathlib import Path

from tests.integration.release_kit import python

MAKER = """
import sys
from pathlib import Path
from lifehelper_data.models.cache import made_once

def make(folder):
    (folder / "weights").write_text(sys.argv[2])
    print("making", flush=True)
    sys.stdin.readline()
    (folder / "config").write_text(sys.argv[2])

folder = made_once(Path(sys.argv[1]), make)
print((folder / "weights").read_text(), (folder / "config").read_text(), flush=True)
"""


def go_on(process: "subprocess.Popen[str]") -> str:
    found, _ = process.communicate("go\n", timeout=60)
    assert process.returncode == 0
    return found.strip()


def making(target: Path, name: str) -> "subprocess.Popen[str]":
    process = python(MAKER, str(target), name)
    assert process.stdout is not None
    assert process.stdout.readline() == "making\n"
    return process


def test_two_processes_on_first_use_share_the_first_whole_folder(tmp_path: Path) -> None:
    target = tmp_path / "encoders" / "m"
    first, second = making(target, "first"), making(target, "second")
    assert not target.exists()
    assert go_on(second) == "second second"
    assert go_on(first) == "second second"
    assert [path.name for path in target.parent.iterdir()] == ["m"]


def test_killed_process_leaves_no_folder_and_the_next_cleans_up(tmp_path: Path) -> None:
    target = tmp_path / "encoders" / "m"
    killed = making(target, "killed")
    killed.kill()
    killed.communicate()
    assert not target.exists()
    assert len(list(target.parent.iterdir())) == 1
    assert go_on(making(target, "next")) == "next next"
    assert [path.name for path in target.parent.iterdir()] == ["m"]
