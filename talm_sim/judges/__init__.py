"""What an episode was worth: one judge a file, and the metrics over their verdicts."""
