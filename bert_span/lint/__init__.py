"""What is wrong with a SQuAD file, what it would cost, and its repair."""
