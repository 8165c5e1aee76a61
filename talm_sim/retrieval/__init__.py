"""Find nearest texts by embeddings: exact, offline by default, with the extra `retrieval`.

From the lowest layer up:

- `embedders.py` writes texts as vectors
- `nearest.py` finds the nearest of some texts
"""

from talm_sim.retrieval.embedders import DEFAULT_EMBEDDER, Embedder, find_embedder
from talm_sim.retrieval.nearest import SERVES_LIMIT, Neighbour, TextIndex

__all__ = ["DEFAULT_EMBEDDER", "SERVES_LIMIT", "Embedder", "Neighbour", "TextIndex", "find_embedder"]
