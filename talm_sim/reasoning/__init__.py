"""Reasoning forms: ten fields that a model fills before it acts, read from any text, written, and drawn by seed.

The form is that of "Teaching Small Models When Not to Call Functions" (SIGIR 2026), section 3 of its README. What it contains is thought: it
is never an attempt at a call, and no judge reads it (docs/refusal.md).

From the lowest layer up:

- `fields.py` knows the fields and their values, and writes or draws a form
- `reasoning_reader.py` reads a form at the beginning of a text
"""

from __future__ import annotations

from talm_sim.reasoning.fields import FIELDS, Decision, Value, begin_form, draw_form, write_form
from talm_sim.reasoning.reasoning_reader import ReasoningForm, find_form, read_form

__all__ = ["FIELDS", "Decision", "ReasoningForm", "Value", "begin_form", "draw_form", "find_form", "read_form", "write_form"]
