"""From strings to answers: the graph, predictions, and their files."""
