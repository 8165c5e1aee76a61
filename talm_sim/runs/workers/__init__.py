"""Worker processes: they play the episodes of a run, and judge each, while the process that started them owns the run."""
