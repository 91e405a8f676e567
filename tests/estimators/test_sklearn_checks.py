"""scikit-learn's own checks: all of them for one estimator of each kind, those that a rule can fail for the others."""

import pytest
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    estimator_checks_generator,
)

import scwlearn
from scwlearn.rules import all_rules, estimator_names

ORDER_MATTERS = "an online learner sees examples in order: one that occurs twice differs from one of twice the weight"
USES_VARIANCE = "a probability also depends on the variance of the score, so it need not rise with the score"
ONE_PASS = "the check allows others a hundred passes or more; see below"

#: One of each kind: second order, first order, without parameters; linear and with a kernel.
REPRESENTATIVES = {"AutoClassifier", "SCW1", "PA1", "Perceptron", "KernelSCW1", "KernelPerceptron"}
#: What can differ between two rules of one kind: the constructor, and how well and how stably they learn.
CHECKS_OF_RULES = {
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_class_weight_classifiers",
    "check_classifiers_train",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_dtype_object",
    "check_estimators_dtypes",
}


def expected_failures(estimator):
    name = type(estimator).__name__
    failures = {
        "check_sample_weight_equivalence_on_dense_data": ORDER_MATTERS,
        "check_sample_weight_equivalence_on_sparse_data": ORDER_MATTERS,
        "check_decision_proba_consistency": USES_VARIANCE,
    }
    return failures if name.startswith("Kernel") else failures | {"check_class_weight_classifiers": ONE_PASS}


def cases():
    """Yield an estimator and a check each."""
    for name in estimator_names():
        estimator = getattr(scwlearn, name)()
        expected = expected_failures(estimator)
        for case in estimator_checks_generator(estimator, expected_failed_checks=expected, mark="xfail"):
            check = getattr(case, "values", case)[1]
            # The options of a check select forms of its data.
            options = ",".join(f"{key}={value}" for key, value in check.keywords.items())
            if name in REPRESENTATIVES or (check.func.__name__ in CHECKS_OF_RULES and not options):
                title = f"{name}-{check.func.__name__}" + (f"({options})" if options else "")
                yield pytest.param(estimator, check, id=title, marks=getattr(case, "marks", ()))


@pytest.mark.parametrize(("estimator", "check"), [*cases()])
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# On rows that are not separable, the Perceptron depends on its last mistake, however many epochs it has.
@pytest.mark.parametrize("name", [rule.estimator for rule in all_rules() if rule.name != "perceptron"])
def test_class_weights_pass_their_check_after_a_hundred_epochs(name):
    check_class_weight_classifiers(name, getattr(scwlearn, name)(n_epochs=100))
