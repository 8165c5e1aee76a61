"""Task `awareness`: can the model tell when a request cannot be served?

From the lowest layer up:

- `data.py` reads the instances of a run
- `decision.py` decides what an answer means, `controls.py` plays the controls
- `intervals.py` computes scores and intervals, `chances.py` measures how good probabilities are
- `feedback.py` is what a model learns from an earlier call
- `protocols.py` words the requests, with solved examples before them
- `explanation.py` judges the reason that a model gives
- `page.py` adds notes and published rows to the table
- `outcomes.py` says what each answer came to
- `measures.py` computes the metrics
- `making/` manipulates complete scenarios, and `maker.py` offers that to `scenarios generate`
- `task.py` is the task
"""
