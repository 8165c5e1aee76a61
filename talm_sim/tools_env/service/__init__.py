"""The live tool service: real data over HTTP on loopback, one router file a category."""

__all__: list[str] = []
