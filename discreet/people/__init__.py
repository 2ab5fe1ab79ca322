"""From a table of people to a rule in production: what a rule leaks about people, rules as files,
an estimator to fit.
"""
