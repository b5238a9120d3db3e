"""What is kept: Parquet parts, release files, locks and pins. The only place with SQL, with sources."""
