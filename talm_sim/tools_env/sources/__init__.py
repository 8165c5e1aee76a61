"""Sources of tools: each kind in its own file, under one protocol."""
