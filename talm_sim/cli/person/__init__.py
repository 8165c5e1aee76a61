"""A person at the terminal who answers questions of episodes."""
