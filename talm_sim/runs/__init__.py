"""Batch, store, resume and the human queue: the only room that writes a run."""
