"""Wait conditions: one module each."""
