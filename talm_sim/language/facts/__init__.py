"""Decide whether an English text states facts: names, numbers, dates and places as people write them, for judge `reference`.

From the lowest layer up:

- `cldr_spellings.py` is the table of how months, units, currencies and countries are written
- `asserted.py` decides whether a sentence says that a value is so, or that it is not
- `numbers.py`, `names.py` and `dates.py` find values of their kind in an answer
- `topics.py` decides whether a value is beside what another fact answers
- `statements.py` decides whether an answer states a fact
- `claims.py` decides what an answer gives for a fact, however carefully
"""
