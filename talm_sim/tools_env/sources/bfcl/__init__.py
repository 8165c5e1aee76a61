"""The simulated APIs of BFCL's multi-turn rows, from the user's own package `bfcl-eval`: a source of tools, and what runs in its sandbox."""
