"""Tuning of prompts and search knobs (from release 0.5)."""
