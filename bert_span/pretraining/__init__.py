"""SpanBERT pre-training."""
