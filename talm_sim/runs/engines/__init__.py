"""Engines play the shards of a run on other machines."""
