"""Examples from any source, in the form that the native loops read."""
