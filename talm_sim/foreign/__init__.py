"""Handle the user's code: import it, find it by name, run it beside ours, time it, and quote it in messages.

From the lowest layer up:

- `code.py` knows whether the user's code is running
- `error_text.py` puts into words what it raised
- `threads.py` calls in a thread what may never return
- `loop.py` is the event loop of the user's code
- `plugins.py` finds things by name: built in, registered, or offered by an installed package
- `time.py` counts how long the user's code took
"""
