"""Reports results and faults of data to people."""
