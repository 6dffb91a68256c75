"""Contiguous span masking and its targets."""
