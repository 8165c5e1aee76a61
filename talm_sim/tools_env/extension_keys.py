"""The names of our extensions in an OpenAPI document, which say more of a tool than the standard can."""

REPLACEABLE_KEY = "x-human-replaceable"
"""Operation extension that becomes `ToolSpec.human_replaceable`."""
REASON_KEY = "x-human-replaceable-reason"
"""Operation extension that becomes `ToolSpec.human_replaceable_reason`."""
RECORD_KEY = "x-record"
"""Operation extension that becomes `ToolSpec.is_record`."""
