"""Keras models that answer questions, and the table of what they answer."""
