"""Writer, verb and path -> allowed or why not; a change -> admitted or refused."""
