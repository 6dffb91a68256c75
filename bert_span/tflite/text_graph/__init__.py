"""The TFLite file that takes strings."""
