"""Dagster: schedules and shows what `lifehelper_data` builds. Assets are thin."""
