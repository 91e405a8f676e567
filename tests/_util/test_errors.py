"""Errors that name options: spelled as keyword arguments, or as the interface spells them."""

import pickle

from scwlearn._util.errors import OptionError


def test_options_are_keyword_arguments_in_python():
    error = OptionError("{scale} needs {covariance=full}, and {shared_covariance=True} does not")
    assert str(error) == 'scale needs covariance="full", and shared_covariance=True does not'
    assert isinstance(error, ValueError)


def test_an_interface_spells_the_options_that_it_has():
    error = OptionError("{scale} or {rivals=max}")
    assert error.render({"scale": "--scale"}.get) == '--scale or rivals="max"'


def test_braces_are_doubled_in_templates():
    assert str(OptionError("{{}} is empty")) == "{} is empty"


def test_errors_are_pickled_with_their_template():
    error = pickle.loads(pickle.dumps(OptionError("{scale} is unknown")))
    assert (str(error), error.template) == ("scale is unknown", "{scale} is unknown")
