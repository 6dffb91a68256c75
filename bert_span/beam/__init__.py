"""Work that is dealt out to many machines: shards, and Apache Beam over them.

Only the two modules named pipeline import apache_beam; what a shard is and how
it is worked on is plain Python.
"""
