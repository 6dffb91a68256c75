"""A trained model as a SavedModel that servers load, and its proofs."""
