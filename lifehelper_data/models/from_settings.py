"""The encoder a configuration means."""

from lifehelper_data.models.encoder import VectorSpace
from lifehelper_data.models.load import EncoderSettings, load_document_encoder
from lifehelper_data.models.native_folder import default_space
from lifehelper_data.settings import Settings


def encoder_settings(settings: Settings) -> EncoderSettings:
    """Return the encoder settings of a configuration."""
    return EncoderSettings(
        model=settings.encoder.model,
        precision=settings.encoder.precision,
        query_runtime=settings.encoder.query_runtime,
        batch_size=settings.run.encoder_batch,
    )


def configured_space(settings: EncoderSettings) -> VectorSpace:
    """Return the vector space of a configuration; the default model's without loading it."""
    if settings.is_light_model:
        return default_space()
    return load_document_encoder(settings).space
