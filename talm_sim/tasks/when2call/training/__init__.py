"""Training rows: sets for supervised and preference training, and the damaged calls of the latter."""
