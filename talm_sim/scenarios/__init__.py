"""What is asked: packaged data, how it is built from seeds, and how every scenario is proved."""

__all__: list[str] = []
