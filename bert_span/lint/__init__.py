"""Checks and repairs SQuAD files."""
