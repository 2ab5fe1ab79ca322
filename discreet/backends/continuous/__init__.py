"""Solving continuous measurements, on top of the discrete `tilt` backend.

boundaries  where the label of a tilted Bayes rule changes, to the last bit
polish      Newton's method on the boundaries of a rule, for positive budgets and for perfect
            privacy
tidy        few intervals and no randomisation, from an estimator on a fine partition
solver      the backend `intervals`: partition, solve, refine at the boundaries, polish
quantiser   bin edges with the best discrete problem of a given size
confidence  finite-sample confidence limits
sampled     measurements in several dimensions, through samples: a confidence interval in place of a
            certificate
"""
