"""Views of stored runs and episodes: tables, Markdown, the page, transcripts."""
