"""What is asked: packaged data, foreign formats, how scenarios are built from seeds, and how every one of them is proved."""

__all__: list[str] = []
