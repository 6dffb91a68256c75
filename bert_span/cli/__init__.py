"""Flags, and how programs run and refuse; --help must not load TensorFlow."""
