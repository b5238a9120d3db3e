"""Thin shells that read one pinned release: load, decide, apply."""
