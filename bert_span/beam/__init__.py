"""Work in shards, spread over many machines by Apache Beam.

Only the modules named pipeline import apache_beam.
"""
