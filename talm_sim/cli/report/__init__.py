"""How stored runs and episodes look: tables, Markdown, the page, pictures, transcripts."""
