"""Where tools come from: each kind of source in a file, under one protocol."""
