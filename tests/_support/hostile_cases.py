"""Changes that an attacker may make to a model file, and the messages that refuse them."""

import numpy as np

from scwlearn.model.mixture import Mixture


def numbers(*values):
    return np.array(values, dtype=np.float64).tobytes()


def set_number(name, at, value, kind=np.float64):
    def change(forged):
        np.frombuffer(forged.array(name), dtype=kind)[at] = value

    return change


def set_field(*path_and_value):
    *path, last, value = path_and_value

    def change(forged):
        place = forged.model
        for key in path:
            place = place[key]
        place[last] = value

    return change


def header(name, **fields):
    return lambda forged: forged.header[name].update(fields)


STATE = ("learner", "state")
# Where the calibrations begin in the mixture of two members.
CURVES = Mixture(2).own_entries
#: Name of the model, change, and start of the message.
CASES = [
    # The header.
    (
        "learner",
        header("memory", data_offsets=[8, 56]),
        "array 'memory' starts at byte 8, expected 0",
    ),
    (
        "learner",
        header("memory", data_offsets=[0, 2**63]),
        "array 'memory'.data_offsets[1] must be an integer from 0 to 9007199254740992, got 9223372036854775808",
    ),
    (
        "learner",
        header("memory", shape=[2**51, 8]),
        "array 'memory' is too large: shape [2251799813685248, 8]",
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
    ("learner", header("memory", shape=[-6]), "array 'memory'.shape[0] must be an integer >= 0, got -6"),
    ("learner", header("memory", shape=[1, 1, 1, 6]), "array 'memory' is too large: shape [1, 1, 1, 6]"),
    (
        "learner",
        header("memory", shape=[True, 6]),
        "array 'memory'.shape[0] must be an integer >= 0, got True",
    ),
    (
        "learner",
        header("memory", dtype="BF16"),
        "array 'memory'.dtype must be one of 'F64', 'F32', 'F16', 'I64', 'I32', 'I16', 'I8', 'U8', got 'BF16'",
    ),
    (
        "learner",
        header("memory", dtype="I64"),
        "array 'memory' must be float64 of shape (6, 1), got int64 of (6, 1)",
    ),
    ("learner", header("memory", more=1), "array 'memory' has unknown fields: 'more'"),
    ("learner", lambda f: f.header.update(memory=7), "array 'memory' must be an object, got 7"),
    ("learner", lambda f: f.data.extend(b"12345678"), "104 bytes of array data, but the header describes 96"),
    ("learner", lambda f: f.data.__delitem__(slice(90, 96)), "90 bytes of array data, but the header describes 96"),
    ("learner", lambda f: f.remove("scalars"), "array 'scalars' is missing"),
    ("learner", lambda f: f.replace("more", b"12345678", [1]), "unexpected arrays: 'more'"),
    # Inconsistent parts.
    (
        "learner",
        set_field(*STATE, "model", "size", 7),
        "array 'memory' must be float64 of shape (7, 1), got float64 of (6, 1)",
    ),
    (
        "learner",
        set_field(*STATE, "model", "size", 2**62),
        "model.learner.state.model.size must be an integer from 0 to 9007199254740992, got 4611686018427387904",
    ),
    (
        "learner",
        set_field(*STATE, "model", "covariance", "full"),
        "model.learner.state.model.covariance must be 'identity', as the settings say, got 'full'",
    ),
    (
        "learner",
        set_field(*STATE, "model", "covariance", "round"),
        "model.learner.state.model.covariance must be one of 'identity', 'diagonal', ",
    ),
    (
        "full",
        set_field(*STATE, "model", "size", 2**40),
        "array 'memory' must be float64 of shape (1, 1099511627779, 1099511627792), got float64 of (1, 9, 16)",
    ),
    (
        "two classes",
        set_field("attributes", "n_features_in_", 9),
        "model.attributes.n_features_in_ must be 5, the number of features of the learner, got 9",
    ),
    (
        "two classes",
        set_field("classifier", "classes", "labels", [False, True, 2]),
        "model.classifier.classes.labels must be of type '|b1', got [False, True, 2]",
    ),
    (
        "two classes",
        set_field("classifier", "classes", {"type": "<i8", "labels": [0, 1, 2]}),
        "model.classifier.classes: 3 labels for a learner of 2 classes",
    ),
    (
        "several",
        set_field("classifier", "classes", "labels", [0, 1, 2, 3, 4]),
        "model.classifier.classes: 5 labels for a learner of 4 classes",
    ),
    (
        "several",
        set_field("classifier", "classes", "labels", [0, 1, 1, 3]),
        "model.classifier.classes.labels must be distinct numbers, strings or bools, got [0, 1, 1, 3]",
    ),
    (
        "several",
        set_field("classifier", "classes", "type", "|O8; import os"),
        "model.classifier.classes.type must be the type of an array of labels, got '|O8; import os'",
    ),
    (
        "several",
        set_field(*STATE, "model", "lanes", 6),
        "model.learner.state.model.lanes must be a multiple of 4, got 6",
    ),
    (
        "several",
        set_field(*STATE, "model", "lanes", 8),
        "array 'memory' must be float64 of shape (8, 9, 16), got float64 of (4, 9, 16)",
    ),
    (
        "several",
        set_field(*STATE, "model", "classes", 5),
        "model.learner.state.model.classes must be an integer from 0 to 4, got 5",
    ),
    (
        "several",
        set_field(*STATE, "scaled", False),
        "model.learner.state.scaled: the setting scale is rms, but there are no scales",
    ),
    (
        "several",
        lambda f: f.replace("scale", numbers(*range(8)), [4, 2]),
        "array 'scale' must be float64 of shape (5, 2), got float64 of (4, 2)",
    ),
    (
        "several",
        lambda f: f.replace("class_counts", bytes(40), [5]),
        "array 'class_counts' is invalid for 4 classes: [0, 0, 0, 0, 0]",
    ),
    (
        "several",
        lambda f: f.replace("calibration", bytes(8 * 154), [154]),
        "array 'calibration' must be float64 of shape (169), got float64 of (154,)",
    ),
    (
        "bounded",
        set_field(*STATE, "vocabulary", "names", 11),
        "array 'names' must be a list of 11 names, got ['words=and', ",
    ),
    (
        "bounded",
        set_field("learner", "settings", "max_features", 3),
        "model.learner.state.vocabulary: 12 names in a model of 3 features",
    ),
    (
        "hashed",
        set_field("learner", "settings", "overflow", "drop"),
        "unexpected arrays: 'slots', 'votes', 'shared'",
    ),
    (
        "hashed",
        set_field("learner", "settings", "max_features", 2**31 - 1),
        "model.learner.state.vocabulary: 2147483647 slots in a model of 8 features",
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
    ("stream", set_field(*STATE, "vocabulary", None), "unexpected arrays: 'names'"),
    (
        "stream",
        set_field(*STATE, "vocabulary", "keys", "bytes"),
        "model.learner.state.vocabulary.keys must be one of 'str', 'int', None, got 'bytes'",
    ),
    ("stream", lambda f: f.replace("names", b"[1]", [3]), "array 'names' must be a list of 20 names, got [1]"),
    ("stream", lambda f: f.replace("names", b"\xff]", [2]), "array 'names': not UTF-8 (byte 0)"),
    # Invalid numbers.
    ("two classes", set_number("memory", 1, -1.0), "array 'memory': variances must be positive and finite"),
    ("two classes", set_number("memory", 3, np.nan), "array 'memory': variances must be positive and finite"),
    ("two classes", set_number("memory", 5, np.inf), "array 'memory': variances must be positive and finite"),
    (
        "two classes",
        set_number("scalars", 1, 0.0),
        "scalars[0, 1]: scale of Sigma must be a finite number > 0, got 0.0",
    ),
    (
        "two classes",
        set_number("scalars", 4, np.nan),
        "scalars[0, 4]: growth of Sigma must be a finite number > 0, got nan",
    ),
    (
        "two classes",
        set_number("scalars", 5, -1.0),
        "scalars[0, 5]: round count must be a finite number >= 0, got -1.0",
    ),
    ("ovr", lambda f: f.remove("lag"), "array 'lag' is missing"),
    ("ovr", set_number("average_state", 1, np.nan), "average_state[0, 1]: value must be finite, got nan"),
    ("ovr", set_number("average_state", 2, -1.0), "average_state[0, 2]: mistakes must be >= 0, got -1.0"),
    ("ovr", set_number("average_state", 0, 0.0), "array 'average_state': the scale of the lag must not be 0"),
    ("two classes", set_number("calibration", 20, np.nan), "calibration[20]: value must be finite, got nan"),
    (
        "two classes",
        set_number("calibration", 0, 0.5),
        "array 'calibration': window must be a number strictly between 1 and inf, got 0.5",
    ),
    ("two classes", set_number("calibration", 1, -3.0), "calibration[1]: row count must be >= 0, got -3.0"),
    # The weights of the mixture, its sums, the weight and the number of rows; then the calibration of each member.
    ("committee", set_number("mixture", 0, np.inf), "mixture[0]: value must be finite, got inf"),
    (
        "committee",
        set_number("mixture", CURVES - 2, -1.0),
        f"mixture[{CURVES - 2}]: weight of all rows must be >= 0, got -1.0",
    ),
    (
        "committee",
        set_number("mixture", CURVES - 1, -1.0),
        f"mixture[{CURVES - 1}]: row count must be an integer >= 0, got -1.0",
    ),
    (
        "committee",
        set_number("mixture", CURVES - 1, 2.5),
        f"mixture[{CURVES - 1}]: row count must be an integer >= 0, got 2.5",
    ),
    (
        "committee",
        set_number("mixture", CURVES - 1, 1e300),
        f"mixture[{CURVES - 1}]: row count must be an integer >= 0, got 1e+300",
    ),
    ("committee", set_number("mixture", CURVES + 1, -3.0), f"mixture[{CURVES + 1}]: row count must be >= 0, got -3.0"),
    (
        "committee",
        set_number("mixture", CURVES + 1, 1e300),
        f"mixture[{CURVES + 1}]: row count must be >= 0, got 1e+300",
    ),
    (
        "committee",
        set_number("mixture", CURVES, 0.5),
        "array 'mixture': window must be a number strictly between 1 and inf, got 0.5",
    ),
    (
        "committee several",
        # A mixture of 5 classes.
        lambda f: f.replace("mixture", Mixture(2, 5).state.tobytes(), [len(Mixture(2, 5).state)]),
        "array 'mixture' does not fit 4 classes",
    ),
    (
        "committee nothing",
        set_field("learner", "n_classes", 2**31 - 1),
        "array 'mixture' does not fit 2147483647 classes",
    ),
    (
        "full",
        set_number("memory", 16, 3.0),
        "array 'memory': the places must be a permutation of the 6 features",
    ),
    (
        "full",
        set_number("memory", 16, np.nan),
        "array 'memory': the places must be a permutation of the 6 features",
    ),
    ("full", set_number("memory", 32, -1.0), "array 'memory': variances must be positive and finite"),
    ("full", set_number("memory", 48, 2.0), "array 'memory': U must be a finite unit triangle"),
    ("full", set_number("memory", 49, 1.0), "array 'memory': U must be a finite unit triangle"),
    ("shared", set_number("memory", -1, 1.0), "array 'memory': U must be a finite unit triangle"),
    ("standard", set_number("moments", 0, np.nan), "moments[0, 0]: number of rows must be from 0 to "),
    ("standard", set_number("moments", 0, -1.0), "moments[0, 0]: number of rows must be from 0 to "),
    (
        "standard",
        set_number("moments", 1, 1.0),
        "moments[0, 1]: the first line must be 0 after the number of rows, got 1.0",
    ),
    ("standard", set_number("moments", 3, -1.0), "moments[1, 0]: variance must be a number from 0 to 4e+300, got -1.0"),
    (
        "standard",
        set_number("moments", 3, 1e305),
        "moments[1, 0]: variance must be a number from 0 to 4e+300, got 1e+305",
    ),
    ("standard", set_number("moments", 4, 1e9), "moments[1, 1]: count must be from 0 to the number of rows, 90, got"),
    (
        "standard",
        set_number("moments", 5, -1e200),
        "moments[1, 2]: mean must be a number from -1e+150 to 1e+150, got -1e+200",
    ),
    (
        "standard",
        lambda f: f.replace("moments", numbers(*range(10)), [5, 2]),
        "array 'moments' must be float64 of shape (6, 3), got float64 of (5, 2)",
    ),
    ("several", set_number("moments", 0, -1.0), "moments[0, 0]: number of rows must be from 0 to "),
    ("several", set_number("moments", 0, 2.0**53), "moments[0, 0]: number of rows must be from 0 to 9007199254740991"),
    (
        "several",
        lambda f: f.replace("scale", numbers(-1.0, *range(9)), [5, 2]),
        "scale[0, 0]: scale must be a number from 0 to 1e+150, got -1.0",
    ),
    (
        "several",
        lambda f: f.replace("scale", numbers(1.0, np.inf, *range(8)), [5, 2]),
        "scale[0, 1]: count must be a number from 0 to ",
    ),
    (
        "several",
        set_number("class_counts", 0, -1, np.int64),
        "class_counts[0]: count must be an integer >= 0, got -1",
    ),
    (
        "several",
        set_number("class_counts", 0, 2**53, np.int64),
        "array 'class_counts' is invalid for 4 classes: [9007199254740992, 20, 17, 6]",
    ),
    (
        "learner",
        set_field(*STATE, "counters", [-1, 0, 0]),
        "model.learner.state.counters[0] must be an integer >= 0, got -1",
    ),
    (
        "learner",
        set_field(*STATE, "counters", [2**63, 0, 0]),
        "model.learner.state.counters[0] must be an integer from 0 to 9007199254740992, got 9223372036854775808",
    ),
    (
        "learner",
        set_field(*STATE, "model", "initial_variance", -1),
        "model.learner.state.model.initial_variance: initial_variance must be a number strictly between 1e-100 and 1e+",
    ),
]
