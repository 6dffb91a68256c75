"""A package: an installed one of this name would hide a plain folder."""
