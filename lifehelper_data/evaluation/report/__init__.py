"""The page of a release: one HTML file that says what is in it and how good it is."""
