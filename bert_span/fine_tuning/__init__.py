"""Windows, a head and the loop: a trained extractor."""
