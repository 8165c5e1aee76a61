"""Tasks as a stranger writes them, one file each, and what the framework makes of them."""
