"""Bytes in and out: opening, compression, chunks, lines, errors."""
