"""Decide whether an English text states facts: names, numbers, dates and places as people write them, for judge `reference`."""
