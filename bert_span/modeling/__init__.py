"""Encoder, heads, losses and the import of checkpoints; knows no strings."""
