"""Translate what the user says in scenarios of any task; everything else is kept, so that a run in one language pairs with one in another.

    rows with the same words -> one request per text -> checks by rule (`checks`), at most three attempts -> a row per original, or the reason

`languages` has what the checks know of a language, `review` what a scenario's user says, the values that a call needs, and what a person reads.
"""
