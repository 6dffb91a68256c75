"""Fine-tuning and pre-training, from the first step to the scores."""
