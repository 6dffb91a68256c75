"""What each program does, a function of its options."""
