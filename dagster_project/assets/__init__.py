"""The asset graph, one module per group."""
