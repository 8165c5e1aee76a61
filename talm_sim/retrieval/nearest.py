"""Find the nearest of some texts by cosine, exact and in the same order everywhere, and embed texts as vectors.

Embeddings are static ones that ship in a package, or those of any sentence-transformers model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from talm_sim.errors import PrerequisiteError, pip_install

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_EMBEDDER = "wordllama"
"""Static embeddings of 256 dimensions inside the package of that name (MIT): one vector per token, averaged."""
SERVES_LIMIT = 0.5
"""Cosine of two APIs' names and descriptions from which one is assumed to do the other's work.

For the default embeddings, read from neighbours in StableToolBench's pool: above .7 nearly all pairs do the same ("Verify Email" of five
tools, website screenshots), between .5 and .7 many ("Get Company Cash Flow" and "Cash flow statement" .62, two autocompletions of addresses
.58, UUID and GUID generators .51), below .5 few. Another embedder needs a limit of its own.
"""
_DECIMALS = 6
"""Decimals to which cosines are distinguished: finer differences come from the order in which a machine sums."""


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


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A text near another one.

    Attributes:
        place: Its place among the texts of the index, from 0.
        cosine: Of the angle between the two, to six decimals: 1 for the same direction; 0 where either has no direction.
    """

    place: int
    cosine: float


class TextIndex:
    """Some texts, embedded once."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self.texts = tuple(texts)
        self._embedder = embedder
        self._vectors = _directions(embedder, self.texts)
        self._seen: dict[str, NDArray[np.float64]] = {}

    def nearest(self, text: str) -> Iterator[Neighbour]:
        """Return all texts of the index, the nearest to `text` first; equally near ones keep the order of the index."""
        import numpy as np

        cosines = self._cosines(text)
        return (Neighbour(int(place), float(cosines[place])) for place in np.argsort(-cosines, kind="stable"))

    def cosine(self, place: int, text: str) -> float:
        """Return the cosine of one text of the index with `text`, to six decimals."""
        return float(self._cosines(text)[place])

    def _cosines(self, text: str) -> NDArray[np.float64]:
        import numpy as np

        if text not in self._seen:
            (vector,) = _directions(self._embedder, (text,))
            # einsum sums in one thread and one order; a matrix product wakes all threads for half a millisecond's work.
            cosines = np.einsum("ij,j->i", self._vectors, vector) if self.texts else np.zeros(0)
            self._seen[text] = np.round(cosines, _DECIMALS) + 0.0  # no -0.0: it is as near as 0.0
        return self._seen[text]


def _directions(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return vectors of length 1, or 0 for a text without a direction."""
    import numpy as np

    if not texts:
        return np.zeros((0, 0))
    rows = np.asarray(embedder.embed(texts), dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
