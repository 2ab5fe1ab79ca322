"""Guesses over time: measurements come one after another, and each guess is made from the
measurements so far.
"""
