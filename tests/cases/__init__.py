"""Acceptance tests: programs that users of comparable products could not run, each with the right answer."""
