"""Models that run on this machine, in this process: `hf/...` by transformers. Nothing heavy is imported before one is opened."""
