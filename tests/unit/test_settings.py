"""Configuration: file < environment < flag."""

from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.settings import load_settings


def test_flag_beats_environment_beats_file(tmp_path: Path) -> None:
    file = tmp_path / "lifehelper.toml"
    file.write_text("[popularity]\nwindow_days = 10\nhalf_life_days = 11\nprior_ratings = 12\n")
    settings = load_settings(
        file,
        {
            "LIFEHELPER__POPULARITY__WINDOW_DAYS": "20",
            "LIFEHELPER__POPULARITY__HALF_LIFE_DAYS": "21",
            "UNRELATED": "1",
        },
        {"popularity.window_days": 30, "run.threads": None},
    )
    assert settings.popularity.window_days == 30
    assert settings.popularity.half_life_days == 21
    assert settings.popularity.prior_ratings == 12
    assert settings.run.threads == 2  # the default: a flag that was not given changes nothing


def test_hash_covers_tunables_and_not_how_the_work_is_done() -> None:
    plain = load_settings(None, {}).tunables_hash()
    assert load_settings(None, {}, {"run.threads": 7}).tunables_hash() == plain
    assert load_settings(None, {}, {"retention.keep_last": 3}).tunables_hash() == plain
    assert load_settings(None, {}, {"popularity.window_days": 7}).tunables_hash() != plain


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[popularity]\nwindow_day = 3\n", "popularity.window_day"),
        ("[popularity]\nmethod = 'best'\n", "'best'"),
        ("[run]\nmemory_limit = 'much'\n", "'much'"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_naming_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "lifehelper.toml"
    file.write_text(text)
    with pytest.raises(InvalidRequest, match=says):
        load_settings(file, {})
