"""Sources of outcomes in blocks: mapped files, iterators, and count vectors generated on the
fly.
"""
