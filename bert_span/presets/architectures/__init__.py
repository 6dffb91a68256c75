"""Encoders in others' files: one explicit map of weights an architecture."""
