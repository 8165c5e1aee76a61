"""Let people judge a stored run: the sample that they judge, their verdicts, and how far they and other judges agree.

From the lowest layer up:

- `alone.py` makes a run of scenarios that no model plays
- `labelled_rate.py` estimates a rate from the labels of a part of a run
- `sample.py` draws the episodes that people judge
- `kept_verdicts.py` reads people's verdicts
- `ballot.py` takes one person's verdicts, one after the other
- `people_agreement.py` computes how far people and judges agree
"""
