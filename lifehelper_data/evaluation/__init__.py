"""Measures what the platform built and decided."""
