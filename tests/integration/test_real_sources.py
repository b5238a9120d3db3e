"""Mapping files of the real data sets build, and their counts are as documented."""

from pathlib import Path

import pytest

from tests.integration.build_kit import REAL_DATA, SOURCES, build

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not REAL_DATA.is_dir(), reason=f"real data folder {REAL_DATA.name} absent"),
]

# source -> table -> (returned, kept, repeated, duplicates, quarantined, orphans)
EXPECTED = {
    "ko_shop": {
        "books": (7_227, 7_227, 0, 0, 0, 0),
        "book_popularity": (2_583, 2_583, 0, 0, 0, 0),
        "user_reviews": (39_530, 39_530, 0, 0, 0, 17_682),
        "category_map": (29, 29, 0, 0, 0, 0),
    },
    "ko_novels_cp949": {
        "books": (30_563, 25_212, 0, 5_351, 0, 0),
        "book_popularity": (25_212, 25_212, 0, 0, 0, 0),
    },
    "reading_events": {
        "books": (74_528, 74_528, 0, 0, 0, 0),
        "user_library": (84_551, 84_551, 0, 0, 0, 0),
        "user_purchases": (146_659, 146_657, 2, 0, 0, 0),
        "user_reviews": (125_369, 125_369, 0, 0, 0, 0),
    },
    "movielens_100k": {
        "books": (1_682, 1_682, 0, 0, 0, 0),
        "user_purchases": (100_000, 100_000, 0, 0, 0, 0),
        "user_reviews": (100_000, 100_000, 0, 0, 0, 0),
    },
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_real_source_builds_with_every_row_accounted_for(tmp_path: Path, name: str) -> None:
    built = build(tmp_path / "w", SOURCES / f"{name}.toml")
    content = built.release.release.content
    assert {
        table: (c.returned, c.kept, c.repeated, c.duplicates, c.quarantined, c.orphans)
        for table, c in content.table_counts.items()
    } == EXPECTED[name]
    assert all(file.balanced and file.rejected == 0 for file in content.files)
    assert all(counts.balanced for counts in content.table_counts.values())
    assert built.release.in_service
