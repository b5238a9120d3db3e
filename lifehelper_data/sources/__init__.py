"""Outside data: mapping files, declared files read as text, guarded SELECTs, contract casting."""
