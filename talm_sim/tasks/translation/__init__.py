"""Translate what the user says in scenarios of any task; everything else is kept, so that a run in one language pairs with one in another.

    rows with the same words -> one request per text -> checks by rule, at most three attempts -> a row per original, or the reason

From the lowest layer up:

- `languages.py` has what the checks know of a language
- `added.py` finds what a translation adds
- `translation_checks.py` checks a translation against the English text
- `translation_review.py` has what a scenario's user says, the values that a call needs, and what a person reads
- `maker.py` translates scenarios
"""
