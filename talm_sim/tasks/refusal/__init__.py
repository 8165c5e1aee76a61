"""Task `refusal`: a call made when a tool fits, none when none does (Teaching Small Models When Not to Call Functions, SIGIR 2026)."""
