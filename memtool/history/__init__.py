"""Git -> versions of notes and lines, and who wrote which."""
