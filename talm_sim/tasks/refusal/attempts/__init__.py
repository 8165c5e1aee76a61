"""Find attempts at tool calls in what a model wrote, well-formed or not: one kind of form per file."""
