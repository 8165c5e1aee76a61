"""The live tool service: real data over HTTP on loopback, one router file a category.

From the lowest layer up:

- `vendored.py` reads the data files, `data_sources.py` says where they are from
- `draws.py`, `geodesy.py`, `lookup.py` and `zones.py` are what routers share: draws, distances, names, time zones
- `stand_in.py` says whether a person can do a tool's work
- `routers/` holds the tools
- `app.py` is the application
- `described.py` describes the tools without a service
- `serve.py` serves an application in this process, `process.py` runs the service as a child process
- `source.py` is the source of the built-in tools
- `__main__.py` serves until it is interrupted
"""

__all__ = ["HEALTH_PATH"]

HEALTH_PATH = "/health"
"""Answers 200 once the service takes calls; it is no tool."""
