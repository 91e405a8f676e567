"""Labels in several files: strings and numbers do not mix, whatever reads them; bools are numbers."""

import os
from itertools import permutations

import numpy as np
import pytest

from scwlearn.cli.app import run
from scwlearn.data.batch import Batch
from scwlearn.data.io.errors import DataError
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from table_text import exactly
from use_examples import failed, written

# Some keep examples away from the learner, or join batches first.
COMMANDS = {
    "train": ["train"],
    "train with a holdout": ["train", "--holdout", "0.5"],
    "train shuffled": ["train", "--shuffle-buffer", "100"],
    "train on workers": ["train", "--workers", "1", "--parts", "1"],
    "tune": ["tune", "-a", "pa1", "--grid", "C=1,2"],
    "tune shuffled": ["tune", "-a", "pa1", "--shuffle-buffer", "100"],
    "compare": ["compare", "-a", "pa1,arow", "--permutations", "1"],
    "convert": ["convert", "-o", os.devnull, "--to", "jsonl"],
}
NUMBERS = {"bools": ["true", "false", "true"], "whole": ["1", "0", "1"], "halves": ["0.5", "1", "0.5"]}


def of_words(directory):
    return written(directory / "words.vw", "ham | a\nspam | b\nham | a\n")


def of_numbers(directory):
    return written(directory / "numbers.vw", "1 | a\n2 | b\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_strings_and_numbers_do_not_mix(tmp_path, capsys, command):
    words, numbers = of_words(tmp_path), of_numbers(tmp_path)
    said = failed(capsys, *COMMANDS[command], words, numbers, "-q")
    assert f"{numbers}, line 1: all labels must be strings, as those of {words} are; found 1.0\n" in said
    said = failed(capsys, *COMMANDS[command], numbers, words, "-q")
    assert f"{words}, line 1: all labels must be numbers, as those of {numbers} are; found 'ham'\n" in said


def test_strings_and_numbers_do_not_mix_when_a_model_is_evaluated(tmp_path, capsys):
    words, numbers, model = of_words(tmp_path), of_numbers(tmp_path), str(tmp_path / "it.model")
    assert run(["train", words, "-q", "-m", model]) == 0
    said = failed(capsys, "evaluate", model, words, numbers, "-q")
    assert f"{numbers}, line 1: all labels must be strings, as those of {words} are; found 1.0\n" in said


def test_labels_that_are_ignored_may_mix(tmp_path):
    words, numbers, model = of_words(tmp_path), of_numbers(tmp_path), str(tmp_path / "it.model")
    assert run(["train", words, "-q", "-m", model]) == 0
    assert run(["predict", model, words, numbers, "-q"]) == 0


def test_the_labels_of_data_in_memory_do_not_mix():
    def in_memory(labels, name, labelled=None):
        return Batch(Rows([[1.0]] * 3), np.array(labels), None, np.arange(1, 4), name, labelled)

    sources = [in_memory(["a", "b", "a"], "words"), in_memory([0, 2, 1], "numbers", np.array([False, True, True]))]
    with pytest.raises(
        DataError, match=exactly("numbers, line 2: all labels must be strings, as those of words are; found 2")
    ):
        [*read_batches(sources, options=ReaderOptions(labels="optional"))[1]]
    assert len([*read_batches(sources, options=ReaderOptions(labels="ignored"))[1]]) == 2


@pytest.mark.parametrize("kinds", [*permutations(NUMBERS, 2), ("bools", "whole", "halves")])
@pytest.mark.parametrize("command", COMMANDS)
def test_bools_are_numbers(tmp_path, command, kinds):
    files = [
        written(
            tmp_path / f"{kind}.jsonl",
            "".join(f'{{"a": {place}, "label": {label}}}\n' for place, label in enumerate(NUMBERS[kind])),
        )
        for kind in kinds
    ]
    assert run([*COMMANDS[command], *files, "-q"]) == 0
