"""The document encoder of a build, loaded only if a text has to be embedded."""

from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.from_settings import encoder_settings
from lifehelper_data.models.load import load_batch_encoder
from lifehelper_data.pipelines.context import BuildContext


class LazyEncoder:
    """Loads the configured encoder at the first `get`."""

    def __init__(self, context: BuildContext) -> None:
        self._settings = encoder_settings(context.settings)
        self._context = context
        self._encoder: Encoder | None = None
        self._texts = 0

    def get(self, texts: int) -> Encoder:
        """Return an encoder for so many texts; a light one may serve a few."""
        if self._encoder is None or texts > self._texts:
            self._context.progress.step("loading the encoder", 0, None)
            self._encoder = load_batch_encoder(self._settings, texts)
            self._texts = texts
        return self._encoder

    @property
    def precision(self) -> str | None:
        """Precision used; None if nothing had to be embedded."""
        return None if self._encoder is None else self._encoder.precision
