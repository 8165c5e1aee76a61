"""What an OpenAPI document says of a tool beyond the standard: the names of these extensions."""

REPLACEABLE_KEY = "x-human-replaceable"
"""Operation extension that becomes `ToolSpec.human_replaceable`."""
REASON_KEY = "x-human-replaceable-reason"
"""Operation extension that becomes `ToolSpec.human_replaceable_reason`."""
RECORD_KEY = "x-record"
"""Operation extension that becomes `ToolSpec.is_record`."""
