"""What the tests of the running scale share."""

from functools import partial

import pytest

from scwlearn.model.scale import RunningScale
from scwlearn.model.scales import SCALE_NAMES


@pytest.fixture(params=SCALE_NAMES)
def new(request):
    """Return what makes a scale of each kind."""
    return partial(RunningScale, request.param)
