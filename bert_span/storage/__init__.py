"""Files: read, checked, written whole or not at all."""
