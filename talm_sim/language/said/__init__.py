"""Read what a person says in a conversation: the values in it, how many, which day, and what they claim to have done.

From the lowest layer up:

- `past_acts.py` finds what a person claims to have done or said
- `spoken_values.py` finds numbers, days, clock times, colors and names
- `counts.py` reads how many
"""
