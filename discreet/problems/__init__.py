"""The common problem, the models it comes from, and the judge."""
