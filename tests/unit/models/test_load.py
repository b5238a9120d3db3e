from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.load import (
    EncoderSettings,
    QueryRuntime,
    load_document_encoder,
    load_query_encoder,
)
from lifehelper_data.models.native_folder import default_space
from lifehelper_data.models.proof import Proof, conditions, save_proof


def keep_light_proof(cache: Path, min_cosine: float) -> None:
    save_proof(
        cache,
        Proof(
            vector_space_id=default_space().vector_space_id,
            runtime="q4",
            min_cosine=min_cosine,
            conditions=conditions(),
        ),
    )


@pytest.mark.parametrize("name", ["batch_size", "threads"])
def test_settings_below_one_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match=rf"encoder\.{name} = 0"):
        EncoderSettings(**{name: 0})  # type: ignore[arg-type]  # the name is a parameter here


def test_folder_that_does_not_exist_is_refused_with_its_name(tmp_path: Path) -> None:
    settings = EncoderSettings(model=str(tmp_path / "none"), cache_dir=tmp_path)
    with pytest.raises(InvalidRequest, match=r"none'.*no such folder"):
        load_document_encoder(settings)


def test_light_runtime_without_proof_is_refused_naming_the_space(tmp_path: Path) -> None:
    settings = EncoderSettings(cache_dir=tmp_path, query_runtime="quantised")
    with pytest.raises(InvalidRequest) as caught:
        load_query_encoder(settings)
    assert "was not compared" in str(caught.value)
    assert default_space().vector_space_id in str(caught.value)
    assert "`lifehelper build`" in str(caught.value)


def test_light_runtime_with_a_failed_proof_is_refused(tmp_path: Path) -> None:
    keep_light_proof(tmp_path, 0.99)
    with pytest.raises(InvalidRequest, match=r"smallest cosine 0\.990000, required 0\.995"):
        load_query_encoder(EncoderSettings(cache_dir=tmp_path, query_runtime="quantised"))


@pytest.mark.parametrize("runtime", ["auto", "quantised"])
def test_light_runtime_is_taken_on_the_word_of_a_proof(
    tmp_path: Path, runtime: QueryRuntime
) -> None:
    keep_light_proof(tmp_path, 0.9998)
    encoder = load_query_encoder(EncoderSettings(cache_dir=tmp_path, query_runtime=runtime))
    assert (encoder.precision, encoder.space) == ("q4", default_space())


def test_light_runtime_is_refused_for_other_models_and_prompts(tmp_path: Path) -> None:
    keep_light_proof(tmp_path, 0.9998)
    for settings in (
        EncoderSettings(cache_dir=tmp_path, query_runtime="quantised", model="a/b"),
        EncoderSettings(cache_dir=tmp_path, query_runtime="quantised", query_prompt="search: "),
    ):
        with pytest.raises(InvalidRequest, match="needs the model 'multilingual-e5-small'"):
            load_query_encoder(settings)
