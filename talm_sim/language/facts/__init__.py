"""Decide whether an English text states facts: names, numbers, dates and places as people write them, for judge `reference`.

From the lowest layer up:

- `cldr_spellings.py` is the table of how months, units, currencies and countries are written
- `units.py` has the units of quantities, and what one is in another
- `asserted.py` decides whether a sentence says that a value is so, or that it is not
- `names.py`, `numbers.py` and `dates.py` find values of their kind in an answer
- `reservations.py` says what stands against a value: it is taken back, dated, doubted or somebody else's
- `truths.py` decides what words say of a truth, or of zero
- `whole_lists.py` decides whether a whole list has one item too many
- `topics.py` decides whether a value is beside what another fact answers
- `statements.py` decides whether an answer states a fact
- `readings.py` says of a statement whether it is sure
- `given.py` decides the same of values that an answer gives one by one, in place of words
- `asides.py` tells what is no value: greetings, waiting times, telephone numbers, examples
- `claims.py` decides what an answer gives for a fact, however carefully
"""
