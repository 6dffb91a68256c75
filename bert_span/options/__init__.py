"""Option dataclasses: all that is known of an option; values in messages."""
