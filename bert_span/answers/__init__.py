"""Logits to spans, spans to text, text to official scores."""
