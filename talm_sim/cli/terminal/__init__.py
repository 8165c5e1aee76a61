"""The terminal itself: streams, consoles, signals, widths, and text made safe to print.

From the lowest layer up:

- `text.py` makes text safe to print
- `streams.py` survives an output that is closed or full
- `signals.py` ends a command in order
- `console.py` has the two consoles
- `screen.py` measures text in columns
"""
