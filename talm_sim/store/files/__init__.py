"""The files of a run: its database, manifest, seal and lease, and the store that its one owner writes."""
