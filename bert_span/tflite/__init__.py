"""Exports TFLite files for devices, verifies and runs them."""
