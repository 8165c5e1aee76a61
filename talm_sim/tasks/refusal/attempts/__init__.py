"""Find attempts at tool calls in what a model wrote, well-formed or not: one kind of form per file.

From the lowest layer up:

- `answer_text.py` finds the places of an answer where an attempt may be
- `direct_calls.py` finds calls in call syntax, `objects.py` calls in JSON and what is almost JSON
- `find_attempt.py` decides whether an answer attempts a call
"""
