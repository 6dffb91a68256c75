"""Windows and masked text, written as records."""
