"""Logits -> spans."""
