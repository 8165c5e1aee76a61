"""Training rows from what a task measures: scenarios, runs and the user's own rows, written as a model reads and writes them."""
