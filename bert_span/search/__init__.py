"""Finds the passages of many documents that may answer a question."""
