"""Check values against JSON Schemas that come with data: with bounded work, and without fetching anything.

From the lowest layer up:

- `work.py` counts and limits the work of a check
- `patterns.py` matches the patterns of schemas in linear time
- `keywords.py` checks each keyword of a schema
- `validation.py` checks values against schemas, and schemas themselves
"""

from talm_sim.schemas.validation import Schema, fault_of_schema, unchecked_patterns
from talm_sim.schemas.work import NotChecked, current_work, limit_work

__all__ = ["NotChecked", "Schema", "current_work", "fault_of_schema", "limit_work", "unchecked_patterns"]
