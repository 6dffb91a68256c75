"""Option dataclasses: default, help and bounds of each option."""
