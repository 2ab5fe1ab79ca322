"""Inferences from a guess by an adversary who knows the model and the estimator."""
