"""Scenarios of this task: built from seeds, drafted from real calls, and proven."""
