"""Evaluation settings judge results; they are no part of a release."""

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.settings import load_settings


def test_no_evaluation_setting_enters_the_hash_of_the_tunables() -> None:
    plain = load_settings(None, {})
    changed = load_settings(
        None,
        {},
        {
            "evaluation.seed": 8,
            "evaluation.sample": 9,
            "evaluation.resamples": 500,
            "evaluation.margins": {"search.ndcg@10": 0.5},
            "evaluation.user_key": "a key of many characters",
        },
    )
    assert changed.evaluation != plain.evaluation
    assert changed.tunables_hash() == plain.tunables_hash()
    assert "evaluation" not in plain.tunables()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("sample", 0),
        ("resamples", 99),
        ("margins", {"search.ndcg@10": -0.1}),
        ("margins", {"search.ndcg@10": float("inf")}),
        ("user_key", "short"),
    ],
)
def test_unusable_values_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidRequest, match=rf"evaluation\.{name}"):
        load_settings(None, {}, {f"evaluation.{name}": value})


def test_the_user_key_is_not_printed() -> None:
    settings = load_settings(None, {}, {"evaluation.user_key": "a key of many characters"})
    assert "many characters" not in repr(settings) + settings.model_dump_json()
