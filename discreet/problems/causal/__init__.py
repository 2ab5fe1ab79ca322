"""Guesses over time: problems whose measurements come one after the other, and each guess is made
from those so far.
"""
