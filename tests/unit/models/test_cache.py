import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.models.cache import default_cache_folder, made_once, write_json


def fill(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "weights").write_text("w")


def never(folder: Path) -> None:
    raise AssertionError(f"made again in {folder}")


def left_over(target: Path, process: int, host: str) -> Path:
    folder = target.with_name(f".{target.name}.{host}.{process}.0f.tmp")
    folder.mkdir(parents=True)
    return folder


def test_cache_folder_follows_the_environment_else_home() -> None:
    assert default_cache_folder({"LIFEHELPER_CACHE": "/big/disk"}) == Path("/big/disk")
    assert default_cache_folder({}) == Path.home() / ".cache" / "lifehelper"


def test_folder_is_made_once_and_then_found(tmp_path: Path) -> None:
    target = tmp_path / "encoders" / "m"
    assert made_once(target, fill) == target
    assert made_once(target, never) == target
    assert (target / "sub" / "weights").read_text() == "w"
    assert [path.name for path in target.parent.iterdir()] == ["m"]


def test_failed_making_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        raise KeyError

    with pytest.raises(KeyError):
        made_once(tmp_path / "m", fail)
    assert list(tmp_path.iterdir()) == []


def test_loser_of_a_race_discards_its_own(tmp_path: Path) -> None:
    target = tmp_path / "m"

    def faster(folder: Path) -> None:
        (folder / "weights").write_text("winner")

    def slower(folder: Path) -> None:
        (folder / "weights").write_text("loser")
        made_once(target, faster)

    made_once(target, slower)
    assert (target / "weights").read_text() == "winner"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_full_disk_is_unavailable_and_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(Unavailable, match=r"No space left on device.*LIFEHELPER_CACHE"):
        made_once(tmp_path / "m", fail)
    assert list(tmp_path.iterdir()) == []


def test_cache_under_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot write"):
        made_once(tmp_path / "file" / "m", fill)
    with pytest.raises(Unavailable, match="cannot write"):
        write_json(tmp_path / "file" / "proof.json", {})


def test_leftovers_of_dead_processes_of_this_host_only_are_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    target, here = tmp_path / "m", socket.gethostname()
    dead = left_over(target, ended.pid, here)
    running = left_over(target, os.getppid(), here)
    elsewhere = left_over(target, ended.pid, f"not-{here}")
    made_once(target, fill)
    assert (dead.exists(), running.exists(), elsewhere.exists()) == (False, True, True)


def test_json_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "new" / "proof.json"
    write_json(file, {"b": 1, "a": "책"})
    write_json(file, {"a": "책들"})
    assert json.loads(file.read_text()) == {"a": "책들"}
    assert [path.name for path in file.parent.iterdir()] == ["proof.json"]
