"""The gate for continuous integration: every backend on a seeded set of instances, and every
certificate checked again.

`instances` draws the set, each backend runs through it in a process of its own, the project's judge
certifies, `verify` gives the second opinion on what the judge proved, and `gate` decides and writes
it down.
"""
