"""What each program does, with plain arguments."""
