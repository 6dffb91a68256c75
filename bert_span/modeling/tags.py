"""The tags of tokens: B begins a span, I continues it, O is outside spans."""

# The order of the tags in arrays with three values for each token.
TAGS = ("B", "I", "O")
NUM_TAGS = len(TAGS)
B, I, O = range(NUM_TAGS)  # noqa: E741 -- the tags' names
