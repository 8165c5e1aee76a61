"""Find nearest texts by embeddings: exact, offline by default, with the extra `retrieval`. All of it is in `nearest.py`."""

from talm_sim.retrieval.nearest import DEFAULT_EMBEDDER, SERVES_LIMIT, Embedder, Neighbour, TextIndex, find_embedder

__all__ = ["DEFAULT_EMBEDDER", "SERVES_LIMIT", "Embedder", "Neighbour", "TextIndex", "find_embedder"]
