"""Code of the user: how it is imported, found by name, run beside ours, timed, and quoted in messages."""
