"""One builder per asset: read inputs, write parts, return what was done."""
