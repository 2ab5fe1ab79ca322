"""Bytes on disk: archives of arrays, texts, and output files that are written whole or not at
all.
"""
