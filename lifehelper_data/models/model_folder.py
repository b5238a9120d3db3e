"""What a sentence-transformers folder says about its vectors, read without loading it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import InvalidRequest, Unavailable

WEIGHT_SUFFIXES: Final = (".safetensors", ".bin")  # the first kind that a folder has is loaded

_HUB_FILES: Final = ["*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model*.bin"]
_HUB_LEFT_OUT: Final = ["onnx/*", "openvino/*"]

_MODES: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Texts put before what is encoded.

    Attributes:
        query: before every query.
        document: before every document.
    """

    query: str
    document: str


KNOWN_PROMPTS: Final[Mapping[str, Prompts]] = {
    f"intfloat/multilingual-e5-{size}": Prompts(query="query: ", document="passage: ")
    for size in ("small", "base", "large")
}
"""Published models whose folders do not name the prompts their authors ask for."""


def weights_revision(folder: Path) -> str:
    """Return the hex sha256 over the weight files: relative name and content, by name.

    Where a folder has both kinds, only the `.safetensors` files count, as only they are loaded.

    Raises:
        InvalidRequest: the folder holds no weights.
    """
    for suffix in WEIGHT_SUFFIXES:
        files = sorted(folder.rglob(f"*{suffix}"), key=lambda path: path.as_posix())
        files = [file for file in files if file.name != "training_args.bin"]
        if files:
            digest = hashlib.sha256()
            for file in files:
                with file.open("rb") as handle:
                    content = hashlib.file_digest(handle, "sha256").hexdigest()
                digest.update(f"{file.relative_to(folder).as_posix()}={content}\n".encode())
            return digest.hexdigest()
    raise InvalidRequest(
        f"the model folder {str(folder)!r} holds no weights ({', '.join(WEIGHT_SUFFIXES)}); give "
        "the folder that SentenceTransformer.save wrote",
        field="encoder.model",
    )


def pooling(folder: Path) -> str:
    """Return how the folder turns token vectors into one, such as "mean" or "cls+dense".

    Normalisation is left out, since every vector is normalised here. A folder without a module list
    is pooled by the mean, as sentence-transformers does.

    Raises:
        InvalidRequest: a file of the folder is not the JSON it should be.
    """
    steps = []
    for module in _json_list(folder / "modules.json"):
        name = str(module.get("type", "")).rpartition(".")[2]
        if name == "Pooling":
            steps.append(_pooling_modes(folder / str(module.get("path", "")) / "config.json"))
        elif name not in {"Transformer", "Normalize"}:
            steps.append(name.lower())
    return "+".join(steps) or "mean"


def prompts(folder: Path) -> Prompts:
    """Return the prompts the folder names; a missing one is empty. "passage" means document.

    Raises:
        InvalidRequest: the file with the prompts is not the JSON it should be.
    """
    named = _json_object(folder / "config_sentence_transformers.json").get("prompts")
    found = named if isinstance(named, dict) else {}
    return Prompts(
        query=str(found.get("query") or ""),
        document=str(found.get("document") or found.get("passage") or ""),
    )


def hub_folder(model: str, cache: Path) -> Path:
    """Return the local copy of a model of the Hugging Face hub, downloaded on first use.

    Args:
        model: the hub id, such as "intfloat/multilingual-e5-small".
        cache: the cache folder.

    Raises:
        Unavailable: it is not in the cache and the hub cannot be reached or does not know it.
    """
    from huggingface_hub import errors, snapshot_download

    try:
        found = snapshot_download(
            model,
            cache_dir=cache / "hub",
            allow_patterns=_HUB_FILES,
            ignore_patterns=_HUB_LEFT_OUT,
        )
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise Unavailable(
            f"the model {model!r} is neither a folder nor in the cache, and could not be "
            f"downloaded ({reason}); connect to the network once, or set encoder.model to a "
            "model folder or to 'multilingual-e5-small'",
            field="encoder.model",
        ) from error
    return Path(found)


def _pooling_modes(file: Path) -> str:
    config = _json_object(file)
    named = config.get("pooling_mode")
    if isinstance(named, str):
        modes = [named]
    elif isinstance(named, list):
        modes = [str(mode) for mode in named]
    else:
        modes = [mode for key, mode in _MODES.items() if config.get(key)] or ["mean"]
    text = "+".join(modes)
    return text if config.get("include_prompt", True) else f"{text} without prompt"


def _json_object(file: Path) -> dict[str, object]:
    found = _json(file, {})
    if not isinstance(found, dict):
        raise InvalidRequest(f"{str(file)!r} does not hold a JSON object", field="encoder.model")
    return found


def _json_list(file: Path) -> list[dict[str, object]]:
    found = _json(file, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidRequest(
            f"{str(file)!r} does not hold a list of modules", field="encoder.model"
        )
    return found


def _json(file: Path, missing: object) -> object:
    if not file.is_file():
        return missing
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidRequest(
            f"{str(file)!r} is not JSON: {error}", field="encoder.model"
        ) from error
