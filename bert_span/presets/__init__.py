"""Weights in and out: checkpoints, presets, our own model directory."""
