"""The kinds of running scale by name. Loads no NumPy, because the build reads the settings."""

SCALE_NAMES = ("rms", "standard", "unit")
