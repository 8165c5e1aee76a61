"""The user's code: import it, find it by name, run it beside ours, time it, and quote it in messages."""
