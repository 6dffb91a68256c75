"""Comparison with saved outputs of the original run_squad."""
