"""Optimizer, schedule, training loop and checkpoints."""
