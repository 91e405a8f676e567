"""What several test files use."""

import pickle


def state(model):
    """All that an estimator knows, as bytes."""
    return pickle.dumps(model.__getstate__())
