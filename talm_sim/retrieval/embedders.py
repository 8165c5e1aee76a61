"""Embed texts as vectors: static embeddings that ship in a package, or any sentence-transformers model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from talm_sim.errors import PrerequisiteError, pip_install

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_EMBEDDER = "wordllama"
"""Static embeddings of 256 dimensions inside the package of that name (MIT): one vector per token, averaged."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str
    """Its name, noted in what is made with it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return one row per text, all of the same dimension."""
        ...


def find_embedder(name: str = DEFAULT_EMBEDDER) -> Embedder:
    """Load an embedder."""
    return _WordLlama() if name == DEFAULT_EMBEDDER else _SentenceTransformer(name)


class _WordLlama:
    """Reads the package's files itself: importing it would set up logging for the whole program, and its loader misses its own tokenizer."""

    name = DEFAULT_EMBEDDER

    def __init__(self) -> None:
        found = find_spec("wordllama")
        folder = Path(found.origin).parent if found and found.origin else None
        try:
            import numpy as np
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            folder = None
        if folder is None:
            raise PrerequisiteError(f"nearest texts need embeddings: {pip_install('retrieval')}.")
        weights, words = folder / "weights" / "l2_supercat_256.safetensors", folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        if not weights.is_file() or not words.is_file():
            raise PrerequisiteError(f"{folder}: this version of wordllama ships no embeddings; {pip_install('retrieval')}.")
        self._vectors: NDArray[np.float64] = load_file(weights)["embedding.weight"].astype(np.float64)
        self._tokenizer = Tokenizer.from_file(str(words))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Average the vectors of each text's tokens; a text without any is the zero vector."""
        import numpy as np

        rows = np.zeros((len(texts), self._vectors.shape[1]))
        for number, encoded in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if encoded.ids:
                rows[number] = self._vectors[np.minimum(encoded.ids, len(self._vectors) - 1)].mean(axis=0)
        return rows


class _SentenceTransformer:
    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            fault = f"embedder '{name}': needs sentence-transformers: pip install sentence-transformers, or leave --embedder out."
            raise PrerequisiteError(fault) from None
        self.name = name
        try:
            self._model = SentenceTransformer(name)
        except Exception as err:  # a network's errors are those of whichever client its version of the hub uses
            short = " ".join(f"{type(err).__name__}: {err}".split())[:200]
            raise PrerequisiteError(
                f"embedder '{name}': cannot be loaded ({short}); give a model's directory, or its name on the hub."
            ) from None

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Encode with the model."""
        import numpy as np

        return np.asarray(self._model.encode(list(texts), show_progress_bar=False))
