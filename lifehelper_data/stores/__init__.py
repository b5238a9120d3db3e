"""What is kept: Parquet parts, release files, locks and pins. SQL lives here and in sources."""
