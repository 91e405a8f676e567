"""Records of runs, in JSON and in model files."""

import json
import os
import sys
from threading import Thread

import pytest

from scwlearn.data.run_record import Record
from scwlearn.runs.records import read_records
from use_examples import libsvm_model


@pytest.mark.slow
def test_an_incomplete_record_is_rejected():
    with pytest.raises(ValueError, match="not a record of a run: began is missing"):
        Record.from_json({"command": "x"})


def test_a_model_file_is_recognized_whatever_the_length_of_its_header(tmp_path, monkeypatch):
    # The file starts with the length of its header, whose first byte may be a space; the header holds the command.
    for longer in range(0, 512, 3):
        monkeypatch.setattr(sys, "argv", ["scwlearn", "train", "x" * longer])
        path = libsvm_model(tmp_path)
        with open(path, "rb") as file:
            if file.read(1) == b" ":
                break
    else:
        pytest.fail("no model began with a space")
    assert len(read_records(path)) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_records_are_read_from_a_pipe(tmp_path):
    (record,) = read_records(libsvm_model(tmp_path))
    line, pipe = json.dumps(record.to_json()).encode() + b"\n", tmp_path / "pipe"
    # More than a pipe and a buffer hold at once.
    count = 2**17 // len(line) + 1
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(line * count))
    writer.start()
    records = read_records(pipe)
    writer.join()
    assert records == [record] * count
