"""Outcomes in blocks: mapped files, iterators, and count vectors generated on the fly."""
