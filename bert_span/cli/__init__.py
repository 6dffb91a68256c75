"""Flags, and how programs run, print and refuse.

What loads TensorFlow is imported inside the functions that need it: --help and
the refusal of flags must not wait for it.
"""
