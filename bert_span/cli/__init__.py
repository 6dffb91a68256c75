"""Flags, and how programs run, print and refuse."""
