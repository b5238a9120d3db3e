"""Each nasty file against its committed expectation, through reader and staging."""

from pathlib import Path

import pytest

from lifehelper_data.domain.errors import LifehelperError
from lifehelper_data.domain.ports import NoProgress
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.scratch import connect_scratch, quoted
from lifehelper_data.sources.staging import Staging
from tests.nasty.make_nasty import FOLDER, NASTY, Nasty
from tests.unit.sources.source_kit import chunks, read

READABLE = {name: nasty for name, nasty in NASTY.items() if nasty.error is None}
REFUSED = {name: nasty for name, nasty in NASTY.items() if nasty.error is not None}


def test_committed_files_are_the_described_bytes() -> None:
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == {
        name: nasty.content for name, nasty in NASTY.items()
    }


@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
@pytest.mark.parametrize(("name", "nasty"), READABLE.items(), ids=READABLE)
def test_rows_and_rejects_are_the_expected_ones(name: str, nasty: Nasty, block_bytes: int) -> None:
    with chunks(block_bytes=block_bytes, batch_rows=2):
        found = read(FOLDER / name, **nasty.spec)
    assert found.rows == list(nasty.rows)
    assert found.rejected == nasty.rejected
    assert found.lines == len(nasty.rows) + len(nasty.rejected)


@pytest.mark.parametrize(("name", "nasty"), READABLE.items(), ids=READABLE)
def test_staged_counts_balance(name: str, nasty: Nasty) -> None:
    with connect_scratch(":memory:") as connection:
        staging = Staging(connection, FOLDER)
        spec = FileSpec.model_validate({"path": name, **nasty.spec})
        (staged,) = staging.stage("raw", spec, NoProgress())
        assert staged.counts.balanced
        assert staged.counts.rows == len(nasty.rows)
        assert staged.counts.reasons == {
            reason: list(nasty.rejected.values()).count(reason)
            for reason in sorted(set(nasty.rejected.values()))
        }
        staged_rows = connection.execute(f"SELECT * FROM {quoted('raw')}").fetchall()
        assert staged_rows == list(nasty.rows)


@pytest.mark.parametrize(("name", "nasty"), REFUSED.items(), ids=REFUSED)
def test_refused_file_says_which_and_what_to_do(name: str, nasty: Nasty) -> None:
    assert nasty.error is not None
    spec = FileSpec.model_validate({"path": name, **nasty.spec})
    with connect_scratch(":memory:") as connection, pytest.raises(nasty.error) as refused:
        list(Staging(connection, FOLDER).stage("raw", spec, NoProgress()))
    assert isinstance(refused.value, LifehelperError)
    assert name in str(refused.value)
    assert any(
        remedy in str(refused.value) for remedy in ("declare", "check", "write it again", "remove")
    )


def test_same_file_twice_gives_the_same_answer(tmp_path: Path) -> None:
    content = NASTY["ragged.csv"].content
    (tmp_path / "a.csv").write_bytes(content)
    assert read(tmp_path / "a.csv") == read(tmp_path / "a.csv")
