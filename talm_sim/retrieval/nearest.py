"""Find the nearest of some texts by cosine: exact, and in the same order everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talm_sim.retrieval.embedders import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SERVES_LIMIT = 0.5
"""Cosine of two APIs' names and descriptions from which one is assumed to do the other's work.

For the default embeddings, read from neighbours in StableToolBench's pool: above .7 nearly all pairs do the same ("Verify Email" of five
tools, website screenshots), between .5 and .7 many ("Get Company Cash Flow" and "Cash flow statement" .62, two autocompletions of addresses
.58, UUID and GUID generators .51), below .5 few. Another embedder needs a limit of its own.
"""
_DECIMALS = 6
"""Decimals to which cosines are distinguished: finer differences come from the order in which a machine sums."""


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
