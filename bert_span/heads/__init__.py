"""What a head is: one object for each, made of parts of the rooms before."""
