"""The terminal itself: streams, consoles, signals, widths, and text made safe to print."""
