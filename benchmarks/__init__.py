"""Measurements of thoughtree: `python -m benchmarks NAME [--data DIR] [--json]`, from a checkout.

Each figure stands beside what it has to reach, and each count of solved puzzles beside controls that use no
model, so that neither luck nor an easy problem passes for skill. Recorded data is read from a folder that is
given, and never kept here.
"""
