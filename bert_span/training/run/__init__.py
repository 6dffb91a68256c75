"""Checkpoints, resuming, selection and progress of a run."""
