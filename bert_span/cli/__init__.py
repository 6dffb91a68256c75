"""Flags, and how programs run, print and refuse.

--help and the refusal of flags must not wait for TensorFlow: what loads it is
imported inside the functions that need it.
"""
