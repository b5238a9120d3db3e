import hashlib
import json
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.model_folder import Prompts, pooling, prompts, weights_revision


def put(folder: Path, name: str, value: object) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def modules(*names: str) -> list[dict[str, str]]:
    return [
        {"path": f"{at}_{name}" if at else "", "type": f"sentence_transformers.models.{name}"}
        for at, name in enumerate(names)
    ]


def test_revision_covers_every_weight_file_by_name(tmp_path: Path) -> None:
    put(tmp_path, "model.safetensors", "W")
    put(tmp_path, "2_Dense/model.safetensors", "D")
    lines = f"2_Dense/model.safetensors={sha('D')}\nmodel.safetensors={sha('W')}\n"
    assert weights_revision(tmp_path) == sha(lines)


def test_old_weights_beside_new_ones_do_not_count(tmp_path: Path) -> None:
    put(tmp_path, "model.safetensors", "W")
    before = weights_revision(tmp_path)
    put(tmp_path, "pytorch_model.bin", "old")
    assert weights_revision(tmp_path) == before


def test_old_weights_alone_count_and_training_arguments_do_not(tmp_path: Path) -> None:
    put(tmp_path, "pytorch_model.bin", "old")
    put(tmp_path, "training_args.bin", "t")
    assert weights_revision(tmp_path) == sha(f"pytorch_model.bin={sha('old')}\n")


def test_folder_without_weights_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "config.json", {})
    with pytest.raises(InvalidRequest, match="holds no weights"):
        weights_revision(tmp_path)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "cls+max"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["mean", "max"]}, "mean+max"),
        ({"pooling_mode": "mean", "include_prompt": False}, "mean without prompt"),
        ({}, "mean"),
    ],
)
def test_pooling_is_read_in_old_and_new_form(
    tmp_path: Path, config: dict[str, object], expected: str
) -> None:
    put(tmp_path, "modules.json", modules("Transformer", "Pooling", "Normalize"))
    put(tmp_path, "1_Pooling/config.json", config)
    assert pooling(tmp_path) == expected


def test_further_modules_are_part_of_the_pooling(tmp_path: Path) -> None:
    put(tmp_path, "modules.json", modules("Transformer", "Pooling", "Dense"))
    put(tmp_path, "1_Pooling/config.json", {"pooling_mode": "cls"})
    assert pooling(tmp_path) == "cls+dense"


def test_folder_without_module_list_is_pooled_by_the_mean(tmp_path: Path) -> None:
    assert pooling(tmp_path) == "mean"


def test_prompts_are_the_folders_own(tmp_path: Path) -> None:
    put(
        tmp_path, "config_sentence_transformers.json", {"prompts": {"query": "q: ", "passage": "p"}}
    )
    assert prompts(tmp_path) == Prompts(query="q: ", document="p")


def test_missing_prompts_are_empty(tmp_path: Path) -> None:
    assert prompts(tmp_path) == Prompts(query="", document="")


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', '{"a": 1}'])
def test_broken_module_list_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    put(tmp_path, "modules.json", text)
    with pytest.raises(InvalidRequest, match=r"modules\.json"):
        pooling(tmp_path)
