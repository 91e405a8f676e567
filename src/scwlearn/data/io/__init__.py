"""Bytes in and out: opening, compression and errors."""
