"""The live tool service: real data over HTTP on loopback, one router file a category."""

__all__ = ["HEALTH_PATH"]

HEALTH_PATH = "/health"
"""Answers 200 once the service takes calls; it is no tool."""
