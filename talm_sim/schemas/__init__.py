"""JSON Schemas that come with data: values are checked against them with bounded work, and nothing is fetched for them."""

from talm_sim.schemas.validation import Schema, fault_of_schema, unchecked_patterns
from talm_sim.schemas.work import NotChecked, current_work, limit_work

__all__ = ["NotChecked", "Schema", "current_work", "fault_of_schema", "limit_work", "unchecked_patterns"]
