"""Answers questions in shards, on many machines by Apache Beam."""
