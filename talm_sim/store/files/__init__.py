"""The files of a run: its database, manifest, seal and lease, and the store that its one owner writes.

From the lowest layer up:

- `database.py` opens the SQLite file, and packs documents into it
- `lease.py` says which process owns a run
- `comments.py` keeps readers' comments in a file beside the database
- `in_flight.py` says which episodes are played now
- `sealing.py` seals a run that nobody writes
- `manifest.py` is `run.json`: what a run is
- `parts.py` is what a run keeps of its shards, or of its whole
- `records.py` writes an episode's rows, `stored_documents.py` reads them
- `writer.py` is the one thread that writes
- `sealed_files.py` opens a run for reading
- `store.py` is the store as its owner sees it
"""
