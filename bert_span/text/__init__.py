"""Strings to WordPiece tokens, windows and labels, in TensorFlow ops."""
