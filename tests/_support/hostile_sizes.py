"""Numbers in a model file that nothing backs, or that cost more than they seem, and the messages that refuse them."""

import json

from hostile_cases import STATE, set_field

# Python hashes integers modulo this number.
_MODULUS = 2**61 - 1
_ALIKE = [k * _MODULUS for k in range(1, 6)]
_TOO_LARGE = f"an integer must be from -2**63 to 2**63 - 1, got {_ALIKE[-1]}"


def _set_names(names):
    def change(forged):
        text = json.dumps(names).encode()
        forged.model["learner"]["state"]["vocabulary"] = {"keys": "int", "names": len(names)}
        forged.replace("names", text, [len(text)])

    return change


def _without_weights(classes):
    def change(forged):
        forged.model["learner"]["n_classes"] = classes
        forged.model["learner"]["state"]["model"].update(size=0, lanes=classes, classes=classes)

    return change


#: As in `hostile_cases`.
CASES = [
    # Integers with the same hash.
    (
        "several",
        set_field("classifier", "classes", {"type": "|O", "labels": _ALIKE}),
        f"model.classifier.classes.labels[4]: {_TOO_LARGE}",
    ),
    (
        "several",
        set_field("classifier", "class_weight", {"by label": [[label, 1.0] for label in _ALIKE]}),
        f"model.classifier.class_weight.by label[4][0]: {_TOO_LARGE}",
    ),
    ("stream", _set_names(_ALIKE), f"array 'names': {_TOO_LARGE}"),
    # Sizes that no array backs.
    (
        "multi learner",
        _without_weights(2**20),
        "model.learner.state.model.lanes must be at most 4096 in a model without weights, got 1048576",
    ),
    # Another form of Sigma than the rule and the settings have.
    (
        "several",
        set_field(*STATE, "model", "covariance", "identity"),
        "model.learner.state.model.covariance must be 'full' or 'diagonal', as the settings say, got 'identity'",
    ),
    (
        "two classes",
        set_field(*STATE, "model", "covariance", "full"),
        "model.learner.state.model.covariance must be 'diagonal', as the settings say, got 'full'",
    ),
    (
        "committee",
        set_field(*STATE, "models", 1, "covariance", "full"),
        "model.learner.state.models[1].covariance must be 'identity', as the settings say, got 'full'",
    ),
]
