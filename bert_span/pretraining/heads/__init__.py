"""Masked LM and span boundary heads, and their loss."""
