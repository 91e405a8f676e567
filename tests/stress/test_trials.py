"""The first cases of every trial; `make stress` runs many more."""

import pytest
from stress.trial import run_cases, trials


@pytest.mark.slow
@pytest.mark.parametrize("name", trials())
def test_the_claim_of_a_trial_holds_in_its_first_cases(name):
    trial = trials()[name]
    results = [*run_cases(trial, seed=0, numbers=range(trial.quick))]
    assert [result.failure for result in results if result.failure] == []
    assert sum(result.units for result in results) > 0
