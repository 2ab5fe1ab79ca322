"""Benchmarks of discreet for airspeed velocity (asv); see README.md in this folder."""
