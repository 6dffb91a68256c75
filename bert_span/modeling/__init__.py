"""Encoder, heads and losses; they know no strings."""
