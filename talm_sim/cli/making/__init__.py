"""Making scenarios at the terminal: tools tried, drafts, generation, review."""
