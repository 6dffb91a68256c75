"""What each program does; arguments not explained are its flags.

Keyword arguments named options are those of `SpanExtractor.from_preset`.
"""
