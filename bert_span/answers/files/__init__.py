"""Predictions, n-best lists and logits in files."""
