"""Rules about text: normal form, character bigrams."""
