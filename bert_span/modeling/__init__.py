"""Encoder, heads, losses and the import of checkpoints; knows no strings.

The model itself, encoder, heads and losses, is written in Keras' own ops and
runs on any of its backends; what reads and writes files needs TensorFlow.
"""
