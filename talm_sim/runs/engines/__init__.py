"""Engines play the shards of a run in other processes, here or on other machines."""
