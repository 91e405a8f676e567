"""Every rule in the registry, with every covariance, keeps the laws of laws.py and laws_of_dicts.py."""

from functools import partial

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

import laws_of_dicts  # noqa: F401
from laws import LAWS, draw_examples
from scwlearn import Learner
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.rules import all_rules

pytestmark = pytest.mark.native


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
def test_law(law, rule):
    # Shrinking a seed makes nothing simpler.
    @settings(max_examples=6, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(
        examples=st.builds(
            draw_examples,
            seed=st.integers(0, 2**32),
            rows=st.integers(6, 50),
            features=st.integers(3, 12),
            density=st.sampled_from([0.4, 0.8, 1.0]),
        ),
        intercept=st.booleans(),
        initial_variance=st.sampled_from([1.0, 0.5, 3.0]),
    )
    def holds(examples, intercept, initial_variance):
        for covariance in COVARIANCE_NAMES:
            note(f"covariance={covariance!r}")
            new = partial(Learner, rule, covariance=covariance, intercept=intercept, initial_variance=initial_variance)
            law(new, *examples)

    holds()
