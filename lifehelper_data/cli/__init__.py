"""The `lifehelper` command."""
