"""Scenarios: packaged data, foreign formats, how they are built from seeds, and how every one of them is proved."""

__all__: list[str] = []
