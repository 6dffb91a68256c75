"""Option dataclasses: default, help and bounds of each; values in messages."""
