"""The model: a Gaussian over the weights, and what belongs to it (scale, calibration, vocabulary, classes)."""
