"""Small tools that know nothing of learning: checks, atomic files, memory, threads, progress, statistics."""
