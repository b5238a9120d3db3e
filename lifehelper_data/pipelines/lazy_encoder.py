"""The document encoder of a build, loaded only if a text has to be embedded."""

from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.from_settings import encoder_settings
from lifehelper_data.models.load import load_document_encoder
from lifehelper_data.pipelines.context import BuildContext


class LazyEncoder:
    """Loads the configured encoder at the first `get`."""

    def __init__(self, context: BuildContext) -> None:
        self._settings = encoder_settings(context.settings)
        self._context = context
        self._encoder: Encoder | None = None

    def get(self) -> Encoder:
        """Return the encoder."""
        if self._encoder is None:
            self._context.progress.step("loading the encoder", 0, None)
            self._encoder = load_document_encoder(self._settings)
        return self._encoder

    @property
    def precision(self) -> str | None:
        """Precision used; None if nothing had to be embedded."""
        return None if self._encoder is None else self._encoder.precision
