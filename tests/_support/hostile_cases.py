"""What an attacker may change in a model file, by the name of the model, and what is said of it."""

import numpy as np


def numbers(*values):
    return np.array(values, dtype=np.float64).tobytes()


def set_number(name, at, value, kind=np.float64):
    def change(forged):
        np.frombuffer(forged.array(name), dtype=kind)[at] = value

    return change


def set_text(*path_and_value):
    *path, last, value = path_and_value

    def change(forged):
        place = forged.model
        for key in path:
            place = place[key]
        place[last] = value

    return change


def header(name, **fields):
    return lambda forged: forged.header[name].update(fields)


LEARNED = ("learner", "learned")
CASES = [
    # What the header says of arrays.
    (
        "learner",
        header("memory", data_offsets=[8, 56]),
        "array 'memory' starts at byte 8, expected 0",
    ),
    (
        "learner",
        header("memory", data_offsets=[0, 2**63]),
        "array 'memory'.data_offsets must be a list of 2 integers >= 0, got [0, 9223372036854775808]",
    ),
    (
        "learner",
        header("memory", shape=[2**61, 8]),
        "array 'memory' is too large: shape [2305843009213693952, 8]",
    ),
    (
        "learner",
        header("memory", shape=[2**32, 2**32], data_offsets=[0, 0]),
        "array 'memory' is too large: shape [4294967296, 4294967296]",
    ),
    ("learner", header("memory", shape=[0, 2**40, 2**40]), "array 'memory' is too large: shape [0, 1099511627776, "),
    (
        "learner",
        header("memory", shape=[5]),
        "array 'memory': shape [5] does not match data_offsets [0, 48]",
    ),
    (
        "learner",
        header("scalars", data_offsets=[0, 48]),
        "array 'scalars' starts at byte 0, expected 48",
    ),
    ("learner", header("memory", shape=[-6]), "array 'memory'.shape must be a list of integers >= 0, got [-6]"),
    ("learner", header("memory", shape=[1, 1, 1, 6]), "array 'memory' is too large: shape [1, 1, 1, 6]"),
    (
        "learner",
        header("memory", shape=[True, 6]),
        "array 'memory'.shape must be a list of integers >= 0, got [True, 6]",
    ),
    (
        "learner",
        header("memory", dtype="BF16"),
        "array 'memory'.dtype must be one of 'F64', 'F32', 'F16', 'I64', 'I32', 'I16', 'I8', 'U8', got 'BF16'",
    ),
    (
        "learner",
        header("memory", dtype="I64"),
        "array 'memory' must be float64 of shape (6), got int64 of (6,)",
    ),
    ("learner", header("memory", more=1), "array 'memory' has unknown fields: 'more'"),
    ("learner", lambda f: f.header.update(memory=7), "array 'memory' must be an object, got 7"),
    ("learner", lambda f: f.data.extend(b"12345678"), "104 bytes of array data, but the header describes 96"),
    ("learner", lambda f: f.data.__delitem__(slice(90, 96)), "90 bytes of array data, but the header describes 96"),
    ("learner", lambda f: f.remove("scalars"), "array 'scalars' is missing"),
    ("learner", lambda f: f.replace("more", b"12345678", [1]), "unexpected arrays: 'more'"),
    # What does not fit together.
    (
        "learner",
        set_text(*LEARNED, "model", "size", 7),
        "array 'memory' must be float64 of shape (7), got float64 of (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "size", 2**62),
        "array 'memory' must be float64 of shape (4611686018427387904), got float64 of (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "covariance", "full"),
        "array 'memory' must be float64 of shape (9, 16), got float64 of (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "covariance", "round"),
        "model.learner.learned.model.covariance must be one of 'identity', 'diagonal', ",
    ),
    (
        "full",
        set_text(*LEARNED, "model", "size", 2**40),
        "holds a full covariance of 1099511627776 weights; 268435456 are possible",
    ),
    (
        "two classes",
        set_text("attributes", "n_features_in_", 9),
        "model.attributes.n_features_in_ must be 5, the number of features of the learner, got 9",
    ),
    (
        "two classes",
        set_text("learner", "classes", "labels", [False, True, 2]),
        "model.learner.classes.labels must be of type '|b1', got [False, True, 2]",
    ),
    (
        "two classes",
        set_text("learner", "classes", {"type": "<i8", "labels": [0, 1, 2]}),
        "model.learner.learned.classes is missing",
    ),
    (
        "several",
        set_text("learner", "classes", "labels", [0, 1, 2, 3, 4]),
        "model.learner has 5 labels for 4 classes",
    ),
    (
        "several",
        set_text("learner", "classes", "labels", [0, 1, 1, 3]),
        "model.learner.classes.labels must be distinct numbers, strings or bools, got [0, 1, 1, 3]",
    ),
    (
        "several",
        set_text("learner", "classes", "type", "|O8; import os"),
        "model.learner.classes.type must be the type of an array of labels, got '|O8; import os'",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "lanes", 6),
        "model.learner.learned.model.lanes must be a multiple of 4, got 6",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "lanes", 8),
        "array 'memory' must be float64 of shape (8, 9, 16), got float64 of (4, 9, 16)",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "classes", 5),
        "model.learner.learned.model.classes must be an integer from 0 to 4, got 5",
    ),
    (
        "several",
        set_text(*LEARNED, "scaled", False),
        "model.learner.learned has no scales, but features are to be scaled",
    ),
    (
        "several",
        lambda f: f.replace("scale", numbers(*range(8)), [4, 2]),
        "array 'scale' must be float64 of shape (5, 2), got float64 of (4, 2)",
    ),
    (
        "several",
        lambda f: f.replace("class_counts", bytes(40), [5]),
        "array 'class_counts' has 5 numbers for 4 classes",
    ),
    (
        "several",
        lambda f: f.replace("calibration", bytes(8 * 154), [154]),
        "array 'calibration' must be float64 of shape (169), got float64 of (154,)",
    ),
    (
        "bounded",
        set_text(*LEARNED, "vocabulary", "names", 11),
        "array 'names' must be a list of 11 names, got ['words=and', ",
    ),
    (
        "bounded",
        set_text(*LEARNED, "vocabulary", "max_features", 3),
        "model.learner.learned.vocabulary: 12 names in a model of 3 features",
    ),
    (
        "bounded",
        set_text(*LEARNED, "vocabulary", "max_features", None),
        "model.learner.learned has names that are bounded in another way than its settings say",
    ),
    (
        "hashed",
        set_text("learner", "how", "overflow", "drop"),
        "model.learner.learned has names that are bounded in another way than its settings say",
    ),
    (
        "hashed",
        set_text(*LEARNED, "vocabulary", "max_features", 2**31 - 1),
        "model.learner.learned.vocabulary: 2147483647 slots in a model of 8 features",
    ),
    ("hashed", set_number("slots", 0, 8, np.int64), "slots[0]: slot must be an integer from 0 to 7, got 8"),
    ("hashed", set_number("slots", 0, -1, np.int64), "slots[0]: slot must be an integer from 0 to 7, got -1"),
    ("hashed", set_number("slots", slice(None), 3, np.int64), "array 'slots' has duplicate slots"),
    ("hashed", set_number("shared", 0, 2, np.uint8), "shared[0]: flag must be 0 or 1, got 2"),
    (
        "hashed",
        set_number("votes", 0, 2**31, np.int64),
        "votes[0]: vote count must be an integer from 0 to 2147483647, got 2147483648",
    ),
    ("stream", set_text(*LEARNED, "vocabulary", None), "unexpected arrays: 'names'"),
    (
        "stream",
        set_text(*LEARNED, "vocabulary", "keys", "bytes"),
        "model.learner.learned.vocabulary.keys must be one of 'str', 'int', None, got 'bytes'",
    ),
    ("stream", lambda f: f.replace("names", b"[1]", [3]), "array 'names' must be a list of 20 names, got [1]"),
    ("stream", lambda f: f.replace("names", b"\xff]", [2]), "array 'names': not UTF-8 (byte 0)"),
    # Numbers that are none.
    ("two classes", set_number("memory", 1, -1.0), "array 'memory' holds a variance that is not positive and finite"),
    ("two classes", set_number("memory", 3, np.nan), "array 'memory' holds a variance that is not positive and finite"),
    ("two classes", set_number("memory", 5, np.inf), "array 'memory' holds a variance that is not positive and finite"),
    (
        "two classes",
        set_number("scalars", 1, 0.0),
        "array 'scalars' holds a scale of Sigma that is not positive and finite",
    ),
    (
        "two classes",
        set_number("scalars", 4, np.nan),
        "array 'scalars' holds a growth of Sigma that is not positive and finite",
    ),
    ("two classes", set_number("scalars", 5, -1.0), "array 'scalars' holds a number of rounds that is none"),
    ("two classes", set_number("calibration", 20, np.nan), "array 'calibration' holds a number that is not finite"),
    (
        "two classes",
        set_number("calibration", 0, 0.5),
        "array 'calibration': window must be a number strictly between 1 and inf, got 0.5",
    ),
    ("two classes", set_number("calibration", 1, -3.0), "array 'calibration' holds a number of rows that is none"),
    ("full", set_number("memory", 16, 3.0), "array 'memory' must give each of 6 features a place of its own in Sigma"),
    (
        "full",
        set_number("memory", 16, np.nan),
        "array 'memory' must give each of 6 features a place of its own in Sigma",
    ),
    ("full", set_number("memory", 32, -1.0), "array 'memory' holds a variance that is not positive and finite"),
    ("full", set_number("memory", 48, 2.0), "array 'memory' holds no unit triangular factor of Sigma"),
    ("full", set_number("memory", 49, 1.0), "array 'memory' holds no unit triangular factor of Sigma"),
    ("shared", set_number("memory", -1, 1.0), "array 'memory' holds no unit triangular factor of Sigma"),
    ("several", set_number("scale", 0, -1.0), "scale[0, 0]: scale or count must be a finite number >= 0, got -1.0"),
    (
        "several",
        set_number("class_counts", 0, -1, np.int64),
        "array 'class_counts' holds a number that is negative or too large",
    ),
    (
        "several",
        set_number("class_counts", 0, 2**62, np.int64),
        "array 'class_counts' holds a number that is negative or too large",
    ),
    (
        "learner",
        set_text(*LEARNED, "counters", [-1, 0, 0]),
        "model.learner.learned.counters must be a list of 3 integers >= 0, got [-1, 0, 0]",
    ),
    (
        "learner",
        set_text(*LEARNED, "counters", [2**63, 0, 0]),
        "model.learner.learned.counters must be a list of 3 integers >= 0, got [9223372036854775808, 0, 0]",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "initial_variance", -1),
        "model.learner.learned.model: initial_variance must be a number strictly between 1e-100 and 1e+100, got -1",
    ),
    # Settings.
    (
        "learner",
        set_text("class", "os.system"),
        "the model.class must be one of Learner, MultiLearner, KernelLearner, KernelMultiLearner, got 'os.system'",
    ),
    (
        "learner",
        set_text("kind", "pickle"),
        "model.kind must be one of 'estimator', 'stream', 'river', 'learner', got 'pickle'",
    ),
    (
        "learner",
        set_text("learner", "algorithm", "evil"),
        "learns by the rule 'evil', which is not declared here (unknown algorithm 'evil'; choose from ",
    ),
    (
        "learner",
        set_text("learner", "parameters", "C", -1),
        "has settings that are not allowed: C must be a number strictly between 0 and inf, got -1",
    ),
    (
        "learner",
        set_text("learner", "parameters", "D", 1),
        "has settings that are not allowed: pa1 has no parameter 'D'; it has C",
    ),
    (
        "learner",
        set_text("learner", "parameters", "scale", True),
        "has settings that are not allowed: 'scale' is no parameter of a rule",
    ),
    (
        "learner",
        set_text("learner", "how", "rule", "scw1"),
        "model.learner.how has 'rule'; it may have covariance, intercept",
    ),
    (
        "learner",
        set_text("learner", "how", "scale", 1),
        "has settings that are not allowed: scale must be True or False, got 1",
    ),
    (
        "learner",
        set_text("learner", "kernel", {"name": "rbf", "parameters": {}}),
        "model.learner.kernel does not fit a Learner",
    ),
    ("learner", set_text("extra", 1), "model has unknown fields: 'extra'"),
    ("learner", lambda f: f.model.pop("notes"), "model.notes is missing"),
    ("two classes", set_text("class", "AROW"), "model.class is 'AROW', but the learner's rule is 'scw1'"),
    ("two classes", set_text("class", "KernelSCW1"), "model.class is 'KernelSCW1', but the learner's rule is 'scw1'"),
    (
        "two classes",
        set_text("class", "BaseEstimator"),
        "unknown class 'BaseEstimator'; declare a rule of your own before loading its models",
    ),
    (
        "two classes",
        set_text("settings", "evil", 1),
        "model.settings: unexpected settings: 'evil'",
    ),
    (
        "two classes",
        lambda f: f.model["began"].pop("scale"),
        "model.fixed_settings: missing settings: scale",
    ),
    (
        "two classes",
        set_text("settings", "C", [1]),
        "model.settings.C must be a number, a string, true, false or null, got [1]",
    ),
    (
        "full",
        set_text("learner", "class_weight", {"by label": [[0]]}),
        "model.learner.class_weight must be a list of pairs of a label and a number, got [[0]]",
    ),
    ("full", set_text("learner", "class_weight", {"by label": [[0, "a"]]}), "has settings that are not allowed: "),
    ("stream", set_text("class", "SCW1"), "model.class must be 'StreamClassifier', got 'SCW1'"),
    ("stream", set_text("learner", None), "model.learner is missing"),
    # Kernels.
    (
        "kernel",
        set_text("learner", "kernel", "name", "os.system"),
        "has settings that are not allowed: kernel must be one of linear, rbf",
    ),
    (
        "kernel",
        set_text("learner", "kernel", "parameters", {"gamma": 10**400}),
        "model.learner.kernel.parameters.gamma must be a number, got 1000",
    ),
    ("kernel", set_text(*LEARNED, "size", 3), "model.learner.learned.size must be an integer >= 65, got 3"),
    ("kernel", set_number("factor", 0, 0.0), "array 'factor' holds no factor of a kernel matrix"),
    ("kernel", set_number("examples", 0, np.nan), "examples[0, 0]: value must be finite, got nan"),
    (
        "kernel",
        set_text(*LEARNED, "n_features", None),
        "model.learner.learned.examples: 65 examples, but the number of features is missing",
    ),
    (
        "kernel",
        set_text(*LEARNED, "examples", "form", "numbers"),
        "model.learner.learned.examples: 65 examples of form 'numbers' do not fit the kernel",
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
    ("kernel several", set_number("span_0", 0, 8, np.int64), "array 'span_0' must hold numbers of the 8 examples"),
    (
        "kernel several",
        set_text(*LEARNED, "sizes", 0, 3),
        "model.learner.learned.sizes must be the same for all classes, got [3, 16, 16, 16]",
    ),
    (
        "kernel several",
        set_text(*LEARNED, "spans", []),
        "model.learner.learned.spans must be a list of 1 integers >= 0, got []",
    ),
    (
        "kernel spans",
        set_text(*LEARNED, "sizes", 0, 1),
        "model.learner.learned.sizes are too small for spans of [71, 47, 43, 17] examples",
    ),
    (
        "kernel several",
        lambda f: f.array("digests").__setitem__(slice(0, 16), bytes(f.array("digests")[16:32])),
        "array 'digests' has an example twice",
    ),
    (
        "precomputed",
        set_number("examples", 0, 90, np.int64),
        "examples[0]: column must be an integer from 0 to 89, got 90",
    ),
]
