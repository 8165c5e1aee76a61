"""One module a category; each exports `router`. A new category is one more file here and one more seeds file."""

__all__: list[str] = []
