"""Sample files of format 1: every version reads them, and the models give the same outputs."""

import json
import runpy
from copy import deepcopy
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import scwlearn
from saved_examples import everything, saved
from scwlearn.files import read

MODELS = Path(__file__).parent / "models"
MAKE = runpy.run_path(MODELS / "make.py")
EXPECTED = json.loads((MODELS / "expected.format1.json").read_text())
DIGEST = "5b9676561bfd962d0d919ab84c5e483816de1ed39f4e9947537b5fa6aedef3e9"

every_sample = pytest.mark.parametrize("name", EXPECTED)


def load(name):
    return scwlearn.load(MODELS / f"{name}.format1.model")


def test_the_samples_are_unchanged():
    files = sorted(MODELS.glob("*.format1.*"))
    assert len(files) == 1 + len(EXPECTED)
    digest = sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    assert digest == DIGEST, "these files stand for those of users and must never change"


#: Settings added since the samples were saved, with the values that they load as.
ADDED_SINCE = {"costs": None, "average": False, "n_jobs": None}


def outputs(model):
    """The outputs of a model as JSON has them."""
    return json.loads(json.dumps(MAKE["outputs"](model)))


@every_sample
def test_a_sample_gives_the_outputs_that_it_gave_when_it_was_made(name):
    found, expected = outputs(load(name)), deepcopy(EXPECTED[name])
    for values in ("scores", "probabilities"):
        # Another instruction set may add in a different order.
        np.testing.assert_allclose(found.pop(values, []), expected.pop(values, []), rtol=1e-9)
    if "scale" in expected.get("settings", {}):
        # There was one kind of scale then.
        expected["settings"]["scale"] = "rms" if expected["settings"]["scale"] else "none"
    if "settings" in expected:
        added = {setting: value for setting, value in ADDED_SINCE.items() if setting in found["settings"]}
        expected["settings"] = added | expected["settings"]
    assert found == expected


@every_sample
def test_a_sample_is_saved_again_without_loss(name, tmp_path):
    contents = read(MODELS / f"{name}.format1.model")
    assert (contents.notes, contents.library) == (MAKE["NOTES"], "0.1.0")
    assert everything(saved(load(name), tmp_path)) == everything(load(name))


@every_sample
def test_a_sample_continues_to_learn(name):
    model = load(name)
    MAKE["learn_again"](model)
    assert outputs(model)["counts"][0] == sum(EXPECTED[name]["counts"][:1]) + 40
