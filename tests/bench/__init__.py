"""Benchmarks: figures, not assertions."""
