"""Advice: which backend to use for a problem, from what was measured on problems like it.

evidence     what was measured, and what a problem is like
prediction   how sure an option is to be certified, how long it will take, and the order of options
choose       the advice, the reasons against all other options, and notes where the evidence is weak
"""
