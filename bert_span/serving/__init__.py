"""Exports SavedModels for servers, verifies and serves them."""
