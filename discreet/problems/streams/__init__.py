"""Outcomes that come in blocks: arrays, mapped files, count vectors generated on the fly."""
