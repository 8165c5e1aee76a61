"""Build tools from their documentation (Fail-TaLMs, section 3.1): a model drafts them, and only what runs and passes its tests is kept."""

__all__: list[str] = []
