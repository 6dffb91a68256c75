"""The file for devices, its proof and its runner."""
