"""Traces of agents that ran elsewhere: spans or messages in a file, read into a stored run."""
