"""Work in shards, spread over many machines by Apache Beam."""
