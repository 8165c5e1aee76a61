"""Training rows for task `refusal`."""
