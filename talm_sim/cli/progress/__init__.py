"""What is shown while a run is in progress."""
