"""Strategies, clusters and the memory of devices."""
