"""Engines play the shards of a run in other processes, here or on other machines.

From the lowest layer up:

- `base.py` says what an engine is
- `run_shard.py` is one shard of a run
- `shard_reading.py` reads shards, `merge_shards.py` merges them into one run
- `engine_checks.py` refuses what an engine cannot play
- `playing.py` plays a shard on a node
- `local.py` starts processes on this machine, `ray.py` tasks of a Ray cluster
- `driver.py` has the shards played, and merges them
"""
