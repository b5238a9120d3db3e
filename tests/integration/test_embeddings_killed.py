"""A build killed after its last vector was written; `test_embeddings_real` kills one earlier."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.integration.build_kit import store
from tests.integration.search_kit import SearchShop, WordEncoder, encoding_with
from tests.integration.test_embeddings_increments import BOOKS, differing
from tests.integration.vector_kit import environment

KILLED = """
import os, signal, sys
from pathlib import Path
from lifehelper_data.pipelines import build_embeddings
from lifehelper_data.stores.vectors import VectorTable
from tests.integration.search_kit import SearchShop, WordEncoder, encoding_with

folder, upserts = Path(sys.argv[1]), int(sys.argv[2])
build_embeddings.UPSERT_ROWS = 8
upsert = VectorTable.upsert

def upsert_then_die(table, *rows):
    global upserts
    done = upsert(table, *rows)
    upserts -= 1
    if upserts == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

VectorTable.upsert = upsert_then_die
with encoding_with(WordEncoder()):
    SearchShop(folder).build()
"""


def test_a_build_killed_before_it_published_is_finished_without_embedding(
    tmp_path: Path,
) -> None:  # with vectors that are written with the publication only
    books = [BOOKS[n] for n in range(1, 31)]  # 24 with a description: three upserts of 8
    shop = SearchShop(tmp_path / "a").write(books)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(shop.folder), "3"],
        env=environment(), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert store(shop.workspace).numbers() == []
    encoder = WordEncoder()
    with encoding_with(encoder):
        resumed = shop.build()
        assert encoder.documents == []
        whole = SearchShop(tmp_path / "b").write(books).build()
        assert len(encoder.documents) == 24
    assert differing(resumed, whole) == set()
    assert resumed.release.release.identity == whole.release.release.identity
