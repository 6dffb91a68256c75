"""The tags of tokens: B begins a span, I continues it, O is outside."""

# The order of the tags in arrays of three values a token.
TAGS = ("B", "I", "O")
NUM_TAGS = len(TAGS)
B, I, O = range(NUM_TAGS)  # noqa: E741 -- the tags' names
