"""What can be inferred from a guess: the adversary's side of an estimator."""
