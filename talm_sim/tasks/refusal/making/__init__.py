"""Write thoughts that lead to the right action, by a teacher or by rule, for training (README of the refusal study, sections 3 and 4)."""
