"""Encoders in the files of other packages: a module for each architecture."""
