"""Decide by rules what a text in English says: a value it states, a question it asks, a thing it gives away. No model is asked.

From the lowest layer up:

- `calendar_words.py` names the months and weekdays, `sentences.py` takes a text apart into sentences
- `identifying.py` finds the values that say which thing a call is about
- `question_words.py` is the vocabulary of what a question is about
- `facts/` decides whether a text states a fact
- `said/` reads what a person says: values, numbers, days, claims
- `answer_words.py` loads the words of the next three
- `asking.py` finds the sentences that ask for something
- `evidence.py` weighs what a message shows
- `final_answer.py` tells whether a final message asks, declines, reports a failure or answers
- `about_missing.py` decides whether a question is about the thing that is missing
- `leaks.py` finds what a text gives away
"""
