"""Text -> blocks -> batches of masked sequences."""
