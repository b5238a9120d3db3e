"""Data and evaluation platform behind a Korean book shop assistant and a habit coach."""

__version__ = "0.1.0"
