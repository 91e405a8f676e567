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
        "array 'memory' of shape [6] must lie at the bytes [0, 48], got [8, 56]",
    ),
    (
        "learner",
        header("memory", data_offsets=[0, 2**63]),
        "array 'memory'.data_offsets must be a list of 2 whole numbers >= 0, got [0, 9223372036854775808]",
    ),
    (
        "learner",
        header("memory", shape=[2**61, 8]),
        "array 'memory' has a shape that is too large: [2305843009213693952, 8]",
    ),
    (
        "learner",
        header("memory", shape=[2**32, 2**32], data_offsets=[0, 0]),
        "array 'memory' of shape [4294967296, 4294967296] must lie at the bytes [0, 147573952589676412928], got [0, 0]",
    ),
    ("learner", header("memory", shape=[-6]), "array 'memory'.shape must be a list of whole numbers >= 0, got [-6]"),
    ("learner", header("memory", shape=[1, 1, 1, 6]), "array 'memory' has a shape that is too large: [1, 1, 1, 6]"),
    (
        "learner",
        header("memory", shape=[True, 6]),
        "array 'memory'.shape must be a list of whole numbers >= 0, got [True, 6]",
    ),
    (
        "learner",
        header("memory", dtype="BF16"),
        "array 'memory'.dtype must be one of 'F64', 'I64', 'I32', 'U8', got 'BF16'",
    ),
    (
        "learner",
        header("memory", dtype="I64"),
        "array 'memory' must be of type float64 and shape (6), got int64 and (6,)",
    ),
    ("learner", header("memory", more=1), "array 'memory' has an unknown field 'more'"),
    ("learner", lambda f: f.header.update(memory=7), "array 'memory' must be an object, got 7"),
    ("learner", lambda f: f.data.extend(b"12345678"), "has 104 bytes of arrays, of which the header knows 96"),
    ("learner", lambda f: f.data.__delitem__(slice(90, 96)), "array 'scalars' ends at byte 96 of 90"),
    ("learner", lambda f: f.remove("scalars"), "has no array 'scalars'"),
    ("learner", lambda f: f.replace("more", b"12345678", [1]), "has an array 'more' that this model does not have"),
    # What does not fit together.
    (
        "learner",
        set_text(*LEARNED, "model", "size", 7),
        "array 'memory' must be of type float64 and shape (7), got float64 and (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "size", 2**62),
        "array 'memory' must be of type float64 and shape (4611686018427387904), got float64 and (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "covariance", "full"),
        "array 'memory' must be of type float64 and shape (9, 16), got float64 and (6,)",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "covariance", "round"),
        "the model.learner.learned.model.covariance must be one of 'identity', 'diagonal', ",
    ),
    (
        "full",
        set_text(*LEARNED, "model", "size", 2**40),
        "holds a full covariance of 1099511627776 weights; 268435456 are possible",
    ),
    (
        "two classes",
        set_text("attributes", "n_features_in_", 9),
        "the model.attributes.n_features_in_ must be 5, the number that was learned from, got 9",
    ),
    (
        "two classes",
        set_text("learner", "classes", "labels", [False, True, 2]),
        "the model.learner.classes.labels are not of the type '|b1'",
    ),
    (
        "two classes",
        set_text("learner", "classes", {"type": "<i8", "labels": [0, 1, 2]}),
        "the model.learner.learned has no 'classes'",
    ),
    (
        "several",
        set_text("learner", "classes", "labels", [0, 1, 2, 3, 4]),
        "the model.learner has 5 labels for 4 classes",
    ),
    (
        "several",
        set_text("learner", "classes", "labels", [0, 1, 1, 3]),
        "the model.learner.classes.labels must be numbers, strings or bools, each once, got [0, 1, 1, 3]",
    ),
    (
        "several",
        set_text("learner", "classes", "type", "|O8; import os"),
        "the model.learner.classes.type must be a type of labels, got '|O8; import os'",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "lanes", 6),
        "the model.learner.learned.model.lanes must be a multiple of 4, got 6",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "lanes", 8),
        "array 'memory' must be of type float64 and shape (8, 9, 16), got float64 and (4, 9, 16)",
    ),
    (
        "several",
        set_text(*LEARNED, "model", "classes", 5),
        "the model.learner.learned.model.classes must be a whole number >= 0, got 5",
    ),
    (
        "several",
        set_text(*LEARNED, "scaled", False),
        "the model.learner.learned has no scales, but features are to be scaled",
    ),
    (
        "several",
        lambda f: f.replace("scale", numbers(*range(8)), [4, 2]),
        "array 'scale' must be of type float64 and shape (5, 2), got float64 and (4, 2)",
    ),
    (
        "several",
        lambda f: f.replace("class_counts", bytes(40), [5]),
        "array 'class_counts' has 5 numbers for 4 classes",
    ),
    (
        "several",
        lambda f: f.replace("calibration", bytes(8 * 154), [154]),
        "array 'calibration' must be of type float64 and shape (169), got float64 and (154,)",
    ),
    ("bounded", set_text(*LEARNED, "vocabulary", "names", 11), "array 'names' must hold a list of 11 names"),
    (
        "bounded",
        set_text(*LEARNED, "vocabulary", "max_features", 3),
        "the model.learner.learned.vocabulary has 12 names where there is room for 3",
    ),
    (
        "bounded",
        set_text(*LEARNED, "vocabulary", "max_features", None),
        "the model.learner.learned has names that are bounded in another way than its settings say",
    ),
    (
        "hashed",
        set_text("learner", "how", "overflow", "drop"),
        "the model.learner.learned has names that are bounded in another way than its settings say",
    ),
    (
        "hashed",
        set_text(*LEARNED, "vocabulary", "max_features", 2**31 - 1),
        "the model.learner.learned.vocabulary: 2147483647 slots do not fit a model of 8 features",
    ),
    ("hashed", set_number("slots", 0, 8, np.int64), "array 'slots' must hold numbers below 8, each once"),
    ("hashed", set_number("slots", 0, -1, np.int64), "array 'slots' must hold numbers below 8, each once"),
    ("hashed", set_number("votes", 0, 2**31, np.int64), "arrays 'votes' and 'shared' must hold counts, and 0 or 1"),
    ("stream", set_text(*LEARNED, "vocabulary", None), "has an array 'names' that this model does not have"),
    (
        "stream",
        set_text(*LEARNED, "vocabulary", "keys", "bytes"),
        "the model.learner.learned.vocabulary.keys must be one of 'str', 'int', None, got 'bytes'",
    ),
    ("stream", lambda f: f.replace("names", b"[1]", [3]), "array 'names' must hold a list of 20 names, got [1]"),
    ("stream", lambda f: f.replace("names", b"\xff]", [2]), "array 'names' is not UTF-8 (byte 0)"),
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
    ("several", set_number("scale", 0, -1.0), "array 'scale' holds a scale or a count that is negative or not finite"),
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
        "the model.learner.learned.counters must be a list of 3 whole numbers >= 0, got [-1, 0, 0]",
    ),
    (
        "learner",
        set_text(*LEARNED, "counters", [2**63, 0, 0]),
        "the model.learner.learned.counters must be a list of 3 whole numbers >= 0, got [9223372036854775808, 0, 0]",
    ),
    (
        "learner",
        set_text(*LEARNED, "model", "initial_variance", -1),
        "the model.learner.learned.model: initial_variance must be a number strictly between 1e-100 and 1e+100, got -1",
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
        "the model.kind must be one of 'estimator', 'stream', 'river', 'learner', got 'pickle'",
    ),
    (
        "learner",
        set_text("learner", "algorithm", "evil"),
        "learns by the rule 'evil', which is not declared here (there is no algorithm 'evil'; there are ",
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
        "the model.learner.how has 'rule'; it may have covariance, intercept",
    ),
    (
        "learner",
        set_text("learner", "how", "scale", 1),
        "has settings that are not allowed: scale must be True or False, got 1",
    ),
    (
        "learner",
        set_text("learner", "kernel", {"name": "rbf", "parameters": {}}),
        "the model.learner.kernel does not fit a Learner",
    ),
    ("learner", set_text("extra", 1), "the model has an unknown field 'extra'"),
    ("learner", lambda f: f.model.pop("notes"), "the model has no 'notes'"),
    ("two classes", set_text("class", "AROW"), "the model is a AROW, but has learned by 'scw1'"),
    ("two classes", set_text("class", "KernelSCW1"), "the model is a KernelSCW1, but has learned by 'scw1'"),
    (
        "two classes",
        set_text("class", "BaseEstimator"),
        "the model is a 'BaseEstimator', which there is not; a rule of your own must be declared",
    ),
    (
        "two classes",
        set_text("settings", "evil", 1),
        "the model.settings must be those of SCW1; evil is missing or too much",
    ),
    (
        "two classes",
        lambda f: f.model["began"].pop("scale"),
        "the model.began must be those of SCW1; scale is missing or too much",
    ),
    (
        "two classes",
        set_text("settings", "C", [1]),
        "the model.settings.C must be a number, a string, true, false or null, got [1]",
    ),
    (
        "full",
        set_text("learner", "class_weight", {"by label": [[0]]}),
        "the model.learner.class_weight must hold pairs of a label and a number",
    ),
    ("full", set_text("learner", "class_weight", {"by label": [[0, "a"]]}), "has settings that are not allowed: "),
    ("stream", set_text("class", "SCW1"), "the model.class must be 'StreamClassifier', got 'SCW1'"),
    ("stream", set_text("learner", None), "the model has no learner"),
    # Kernels.
    (
        "kernel",
        set_text("learner", "kernel", "name", "os.system"),
        "has settings that are not allowed: kernel must be one of linear, rbf",
    ),
    (
        "kernel",
        set_text("learner", "kernel", "parameters", {"gamma": 10**400}),
        "the model.learner.kernel.parameters.gamma must be a number, got ",
    ),
    ("kernel", set_text(*LEARNED, "size", 3), "the model.learner.learned.size must be a whole number >= "),
    ("kernel", set_number("factor", 0, 0.0), "array 'factor' holds no factor of a kernel matrix"),
    ("kernel", set_number("examples", 0, np.nan), "array 'examples' holds a value that is not finite"),
    ("kernel", set_text(*LEARNED, "n_features", None), "the model.learner.learned.examples has "),
    ("kernel", set_text(*LEARNED, "examples", "form", "numbers"), "the model.learner.learned.examples has "),
    ("kernel sparse", set_number("indices", 0, 5, np.int32), "array 'indices' must hold numbers below 5"),
    ("kernel sparse", set_number("indices", 0, -1, np.int32), "array 'indices' must hold numbers below 5"),
    (
        "kernel sparse",
        set_number("offsets", 1, 2**30, np.int32),
        "array 'offsets' must rise from 0 to the number of values",
    ),
    ("kernel several", set_number("span_0", 0, 8, np.int64), "array 'span_0' must hold numbers of the 8 examples"),
    (
        "kernel several",
        set_text(*LEARNED, "sizes", 0, 3),
        "the model.learner.learned.sizes must be the same for all classes, got [3, ",
    ),
    (
        "kernel several",
        set_text(*LEARNED, "spans", []),
        "the model.learner.learned.spans must be a list of 1 whole numbers >= 0, got []",
    ),
    ("kernel spans", set_text(*LEARNED, "sizes", 0, 1), "the model.learner.learned.sizes are too small for spans of ["),
    (
        "kernel several",
        lambda f: f.array("digests").__setitem__(slice(0, 16), bytes(f.array("digests")[16:32])),
        "array 'digests' has an example twice",
    ),
    (
        "precomputed",
        set_number("examples", 0, 90, np.int64),
        "array 'examples' must hold columns of a matrix that has 90",
    ),
]
