"""Make training rows from what a task measures: scenarios and runs, written as a model reads and writes them.

From the lowest layer up:

- `training_examples.py` is what a row contains, before it has a form
- `damage.py` makes wrong calls from right ones
- `outputs.py` takes examples from a run
- `writing.py` writes examples as rows
- `lesson.py` is what a task says that it can teach
"""
