"""Settings and kernels that an attacker may change in a model file, and the messages that refuse them."""

import numpy as np

from hostile_cases import STATE, set_field, set_number

#: As in `hostile_cases`.
CASES = [
    # Settings.
    (
        "learner",
        set_field("class", "os.system"),
        "model.class must be 'Learner', got 'os.system'",
    ),
    (
        "learner",
        set_field("kind", "pickle"),
        "model.kind must be one of 'estimator', 'stream', 'river', 'learner', got 'pickle'",
    ),
    (
        "learner",
        set_field("learner", "rule", "evil"),
        "unknown algorithm 'evil'; choose from ",
    ),
    (
        "learner",
        set_field("learner", "parameters", "C", -1),
        "invalid settings: C must be a number strictly between 0 and inf, got -1",
    ),
    (
        "learner",
        set_field("learner", "parameters", "D", 1),
        "model.learner.parameters: unexpected settings: 'D'",
    ),
    (
        "learner",
        set_field("learner", "parameters", "scale", True),
        "model.learner.parameters: unexpected settings: 'scale'",
    ),
    (
        "learner",
        set_field("learner", "settings", "rule", "scw1"),
        "model.learner.settings: unexpected settings: 'rule'",
    ),
    (
        "learner",
        set_field("learner", "settings", "scale", 1),
        "invalid settings: scale must be one of none, rms, standard, unit, got 1",
    ),
    (
        "learner",
        set_field("learner", "kernel", {"name": "rbf", "parameters": {}}),
        "model.learner.settings: unexpected settings: 'average', 'covariance', ",
    ),
    ("learner", set_field("classifier", {}), "model.classifier.classes is missing"),
    ("two classes", set_field("classifier", None), "model.classifier must be there if and only if a classifier"),
    (
        "kernel",
        set_field(*STATE, "spans", [3]),
        "model.learner.state.spans must be [65], the number of examples, got [3]",
    ),
    ("learner", set_field("learner", "n_classes", 2**31), "model.learner.n_classes must be an integer from 0 to 2147"),
    ("learner", set_field("extra", 1), "model has unknown fields: 'extra'"),
    ("learner", lambda f: f.model.pop("notes"), "model.notes is missing"),
    ("two classes", set_field("class", "AROW"), "model.class is 'AROW', but the learner's rule is 'scw1'"),
    ("two classes", set_field("class", "KernelSCW1"), "model.class is 'KernelSCW1', but the learner's rule is 'scw1'"),
    (
        "two classes",
        set_field("class", "BaseEstimator"),
        "unknown class 'BaseEstimator'; declare a rule of your own before loading its models",
    ),
    (
        "two classes",
        set_field("settings", "evil", 1),
        "model.settings: unexpected settings: 'evil'",
    ),
    (
        "two classes",
        lambda f: f.model["settings"].update(evil=f.model["settings"].pop("C")),
        "model.settings: missing settings: C; unexpected settings: 'evil'",
    ),
    (
        "two classes",
        set_field("settings", "C", [1]),
        "model.settings.C must be true or false, a number, a string, null or an object, got [1]",
    ),
    (
        "full",
        set_field("classifier", "class_weight", {"by label": [[0]]}),
        "model.classifier.class_weight.by label[0] must be a list of 2 values, got [0]",
    ),
    (
        "full",
        set_field("classifier", "class_weight", {"by label": [[0, "a"]]}),
        "invalid settings: class_weight values must be numbers, got <U1",
    ),
    ("full", set_field("classifier", "class_weight", {"by label": [[0, 10**400]]}), "invalid settings: "),
    (
        "stream",
        set_field("learner", "settings", "max_features", 10**30),
        "invalid settings: max_features must be an int",
    ),
    ("stream", set_field("class", "SCW1"), "model.class must be 'StreamClassifier', got 'SCW1'"),
    ("stream", set_field("learner", None), "model.learner is missing"),
    # Kernels.
    (
        "kernel",
        set_field("learner", "kernel", "name", "os.system"),
        "invalid settings: kernel must be one of linear, rbf",
    ),
    (
        "kernel",
        set_field("learner", "kernel", "parameters", {"gamma": 10**400}),
        "model.learner.kernel.parameters.gamma must be a number from -1e+300 to 1e+300, got 1000",
    ),
    ("kernel", set_field(*STATE, "sizes", [3]), "model.learner.state.sizes must be at least the sizes"),
    ("kernel", set_number("factor_0", 0, 0.0), "diagonal of factor_0[0]: must be > 0, got 0.0"),
    ("kernel", set_number("examples", 0, np.nan), "examples[0, 0]: values must be finite and at most 1e+150 in"),
    ("kernel", set_number("examples", 0, 1e151), "examples[0, 0]: values must be finite and at most 1e+150 in"),
    ("kernel sparse", set_number("values", 0, -1e151), "values[0]: values must be finite and at most 1e+150 in"),
    (
        "kernel",
        set_field(*STATE, "n_features", None),
        "model.learner.state.support: 65 examples, but the number of features is missing",
    ),
    (
        "kernel",
        set_field(*STATE, "support", "form", "numbers"),
        "model.learner.state.support: 65 examples of form 'numbers' do not fit the kernel",
    ),
    ("kernel sparse", set_number("indices", 0, 5, np.int32), "indices[0]: index must be an integer from 0 to 4, got 5"),
    (
        "kernel sparse",
        set_number("indices", 0, -1, np.int32),
        "indices[0]: index must be an integer from 0 to 4, got -1",
    ),
    (
        "kernel sparse",
        set_number("offsets", 1, 2**30, np.int32),
        "array 'offsets' must rise from 0 to 283, the number of values",
    ),
    ("kernel several", set_number("span_0", 0, 8, np.int64), "span_0[0]: index must be an integer from 0 to 7, got 8"),
    (
        "kernel several",
        set_field(*STATE, "sizes", 0, 3),
        "model.learner.state.sizes must be the same for all classes, got [3, 16, 16, 16]",
    ),
    (
        "kernel several",
        set_field(*STATE, "spans", []),
        "model.learner.state.spans must be a list of 1 integers >= 0, got []",
    ),
    (
        "kernel spans",
        set_field(*STATE, "sizes", 0, 1),
        "model.learner.state.sizes must be at least the sizes of the spans, [71, 47, 43, 17], got [1, 96, 96, 96]",
    ),
    (
        "kernel several",
        lambda f: f.array("digests").__setitem__(slice(0, 16), bytes(f.array("digests")[16:32])),
        "array 'digests' has duplicates",
    ),
    (
        "precomputed",
        set_number("examples", 0, 90, np.int64),
        "examples[0]: column must be an integer from 0 to 89, got 90",
    ),
    # Settings that a constructor takes unchecked.
    (
        "not fitted",
        set_field("settings", "C", "auto"),
        "model.settings.C: C must be a number strictly between 0 and inf",
    ),
    ("not fitted", set_field("settings", "eta", 1.0), "model.settings.eta: eta must be a number strictly between 0.5"),
    (
        "not fitted",
        set_field("settings", "shared_covariance", 10**400),
        "model.settings.shared_covariance: shared_covariance must be True or False, got 1000",
    ),
    ("not fitted", set_field("settings", "fit_intercept", None), "model.settings.fit_intercept: fit_intercept must be"),
    ("not fitted", set_field("settings", "n_epochs", -1), "model.settings.n_epochs: n_epochs must be an integer >= 1"),
    (
        "not fitted",
        set_field("settings", "random_state", 2**32),
        "model.settings.random_state must be an integer from 0 to 4294967295, got 4294967296",
    ),
    (
        "not fitted",
        set_field("settings", "random_state", "1"),
        "model.settings.random_state must be an integer from 0",
    ),
    (
        "not fitted",
        set_field("settings", "class_weight", "even"),
        "model.settings.class_weight: class_weight must be a",
    ),
    (
        "not fitted",
        set_field("settings", "costs", {"by label": [["a", 1.0]]}),
        "model.settings.costs: costs must be a dict from true labels",
    ),
    ("two classes", set_field("settings", "shuffle", "yes"), "model.settings.shuffle: shuffle must be True or False"),
    (
        "two classes",
        set_field("fixed_settings", "scale", "log"),
        "model.fixed_settings.scale: scale must be one of none",
    ),
    ("kernel", set_field("settings", "kernel", "log"), "model.settings.kernel: kernel must be one of linear, rbf"),
    ("kernel", set_field("settings", "kernel", 3), "model.settings.kernel: kernel must be the name of a kernel, got 3"),
    ("kernel", set_field("settings", "gamma", 0), "model.settings.gamma: gamma must be a positive number, 'scale' or"),
    ("kernel", set_field("settings", "coef0", "1"), "model.settings.coef0 must be a number from "),
    (
        "committee",
        set_field("settings", "members", {"members": ["arow", {"rule": "pa1", "C": -1}]}),
        "model.settings.members: members[1]: C must be a number strictly between 0 and inf, got -1",
    ),
]
