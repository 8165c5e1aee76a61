"""A person at the terminal, who answers questions of episodes, decides about calls, and judges runs.

From the lowest layer up:

- `typed_lines.py` reads lines that a person types
- `by_key.py` goes through items that are decided by a key
- `label_files.py` reads and writes labels that are given elsewhere
- `question_page.py` shows what is asked, `replies.py` reads what they say
- `typed_decisions.py` takes a decision or a form, `prompt.py` an answer
- `sitting.py` is one person who answers what a run asks
- `blind_judging.py` is one person who judges a run
"""
