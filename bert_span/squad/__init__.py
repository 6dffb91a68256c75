"""SQuAD files, TFDS and MultiSpanQA -> SquadExample."""
