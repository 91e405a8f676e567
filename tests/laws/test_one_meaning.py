"""One record, one meaning: a model says the same of a record to the last bit, wherever it meets the record.

For every format: training from a file equals training from the records in Python, and predicting a file equals
predicting the records, one by one and many at once.
"""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from scipy import sparse

import scwlearn
from scwlearn import SCW1, Features, StreamClassifier
from scwlearn.cli.app import run
from stream_examples import full_state

WORDS = ["free", "offer", "Meeting", "you,", "see", "now", "été", "100", "x-ray"]
CITIES = ["Rome", "Oslo", 'the "Hague"', "Köln; Bonn", "Ulm|Neu"]


def records(count, classes, *, nested, seed):
    """Records with numbers, categories, text, dates, bools and missing values; `nested` adds objects and lists."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        label = int(rng.integers(classes))
        record = {
            "size": None if i % 7 == 3 else float(rng.normal() + label),
            "count": int(rng.integers(0, 5)),
            "city": None if i % 11 == 5 else str(CITIES[(label + rng.integers(3)) % len(CITIES)]),
            "about": " ".join(rng.choice(WORDS, 6)) + ("\nand more" if i % 5 == 0 else ""),
            "when": f"2026-{i % 12 + 1:02}-{i % 28 + 1:02} {i % 24:02}:30:00",
        }
        record["is_new"] = bool(i % 3)
        if nested:
            record["user"] = {"age": float(rng.integers(90)), "job": None if i % 4 else "cook"}
            record["tags"] = [str(w) for w in rng.choice(["p", "q", "r"], i % 4)]
        yield record, f"class {label}"


def delimited(delimiter):
    def write(examples, path):
        file = io.StringIO(newline="")
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([*examples[0][0], "label"])
        writer.writerows([*("" if v is None else v for v in record.values()), label] for record, label in examples)
        path.write_text(file.getvalue(), newline="")

    return write


def labelled(examples):
    return [{**record, "label": label} for record, label in examples]


def write_jsonl(examples, path):
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=len(path.name) % 2 == 0) + "\n" for record in labelled(examples))
    )


def write_json(examples, path):
    path.write_text(json.dumps(labelled(examples), indent=1))


def write_parquet(examples, path):
    parquet.write_table(pa.Table.from_pylist(labelled(examples)), path, row_group_size=17)


def write_arrow(examples, path):
    table = pa.Table.from_pylist(labelled(examples))
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=23)


# How a file is written, and whether its records have objects and lists.
WRITERS = {
    "csv": (delimited(","), False),
    "semicolon.csv": (delimited(";"), False),
    "bar.csv": (delimited("|"), False),
    "tsv": (delimited("\t"), False),
    "jsonl": (write_jsonl, True),
    "json": (write_json, True),
    "parquet": (write_parquet, True),
    "arrow": (write_arrow, True),
}
# Options of the command, and settings of Python that mean the same.
SETTINGS = {
    "default": ("", {}),
    "scale": ("--scale rms", {"scale": "rms"}),
    "standard": ("--scale standard", {"scale": "standard"}),
    "unit": ("--scale unit", {"scale": "unit"}),
    "hash": ("--hash-bits 7", {"max_features": 128, "overflow": "hash"}),
    "drop": ("--max-features 40", {"max_features": 40}),
    "crossed": ("--interactions city:about --interactions size:* --ngram 2 --char-ngrams 3-4", {}),
    "full": ("--covariance full --max-features 150", {"covariance": "full", "max_features": 150}),
    "all": (
        "--scale rms --hash-bits 9 --interactions about:about --interactions city:when:count --ngram 3 --skips 1 "
        "--missing Oslo,été --multi-class ovr",
        {"scale": "rms", "max_features": 512, "overflow": "hash", "multi_class": "ovr"},
    ),
}


def command(capsys, *arguments):
    """What a command prints."""
    assert run([*map(str, arguments)]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def predicted(capsys, model, path):
    """Labels and probabilities, by label, of the lines that `predict` prints."""
    lines = [json.loads(line) for line in command(capsys, "predict", model, path, "--json", "-q").splitlines()]
    return [line["label"] for line in lines], [line["probabilities"] for line in lines]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("format", WRITERS)
def test_a_file_means_what_its_records_mean(format, settings, classes, tmp_path, capsys):
    write, nested = WRITERS[format]
    options, same = SETTINGS[settings]
    train = [*records(300, classes, nested=nested, seed=0)]
    test = [*records(60, classes, nested=nested, seed=1)]
    write(train, tmp_path / f"train.{format}")
    write(test, tmp_path / f"test.{format}")
    command(capsys, "train", tmp_path / f"train.{format}", "-m", tmp_path / "m", "-q", *options.split())
    model = scwlearn.load(tmp_path / "m")

    labels, probabilities = predicted(capsys, tmp_path / "m", tmp_path / f"test.{format}")
    raw = [record for record, _ in test]
    assert model.predict_many(raw) == labels
    assert [model.predict_one(record) for record in raw] == labels
    assert [model.predict_proba_one(record) for record in raw] == probabilities
    assert [
        dict(zip(model.classes, row, strict=True)) for row in model.predict_proba_many(raw).tolist()
    ] == probabilities

    again = StreamClassifier("scw1", features=model.features, **same)
    again.learn_many([record for record, _ in train], [label for _, label in train])
    if settings == "full":
        # A file is learned in blocks, whose last bits differ.
        np.testing.assert_allclose(again.predict_proba_many(raw), model.predict_proba_many(raw), rtol=1e-6)
        return
    assert again.counts == model.counts
    assert again.predict_proba_many(raw).tolist() == model.predict_proba_many(raw).tolist()
    if "overflow" in same:
        # Names that share a slot may be counted in another order.
        assert again._classifier.weights().tolist() == model._classifier.weights().tolist()
    else:
        assert full_state(again) == full_state(model)


@pytest.mark.parametrize("features", [Features(), Features(kinds={"about": "text", "when": "date"})])
@pytest.mark.parametrize("format", [format for format, (_, nested) in WRITERS.items() if nested])
def test_a_model_of_records_reads_files_as_it_read_them(format, features, tmp_path, capsys):
    # Its features are declared: those of a file are not detected, though the text would be words.
    write, _ = WRITERS[format]
    train, test = ([*records(count, 2, nested=True, seed=count)] for count in (300, 60))
    model = StreamClassifier("scw1", features=features)
    model.learn_many([record for record, _ in train], [label for _, label in train])
    scwlearn.save(model, tmp_path / "m")
    write(test, tmp_path / f"test.{format}")
    labels, probabilities = predicted(capsys, tmp_path / "m", tmp_path / f"test.{format}")
    raw = [record for record, _ in test]
    assert model.predict_many(raw) == labels
    assert [model.predict_proba_one(record) for record in raw] == probabilities


@pytest.mark.parametrize("trained", ["csv", "jsonl", "json", "parquet", "arrow"])
def test_a_model_says_the_same_of_a_record_in_every_format(trained, tmp_path, capsys):
    test = [*records(60, 2, nested=False, seed=1)]
    WRITERS[trained][0]([*records(300, 2, nested=False, seed=0)], tmp_path / f"train.{trained}")
    command(capsys, "train", tmp_path / f"train.{trained}", "-m", tmp_path / "m", "-q")
    said = scwlearn.load(tmp_path / "m").predict_many([record for record, _ in test])
    for format, (write, _) in WRITERS.items():
        write(test, tmp_path / f"test.{format}")
        labels, probabilities = predicted(capsys, tmp_path / "m", tmp_path / f"test.{format}")
        assert labels == said, format
        assert probabilities == predicted(capsys, tmp_path / "m", tmp_path / "test.csv")[1], format


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_model_of_json_lines_learns_from_a_table_as_from_its_records(format, tmp_path, capsys):
    examples = [*records(120, 2, nested=False, seed=0)]
    for each, part in (("jsonl", examples[:60]), (format, examples[60:])):
        WRITERS[each][0](part, tmp_path / f"data.{each}")
    command(capsys, "train", tmp_path / "data.jsonl", "-m", tmp_path / "m", "-q")
    first = scwlearn.load(tmp_path / "m")
    command(capsys, "train", tmp_path / f"data.{format}", "--resume", tmp_path / "m", "-m", tmp_path / "n", "-q")
    resumed = scwlearn.load(tmp_path / "n")
    first.learn_many([record for record, _ in examples[60:]], [label for _, label in examples[60:]])
    raw = [record for record, _ in examples]
    assert resumed.predict_proba_many(raw).tolist() == first.predict_proba_many(raw).tolist()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", ["default", "scale", "standard", "hash", "crossed"])
def test_a_vw_file_means_what_its_features_mean(settings, classes, tmp_path, capsys):
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(300):
        label = int(rng.integers(classes))
        names = {f"text^w{rng.integers(20)}": float(rng.normal() + label) for _ in range(5)}
        examples.append((names | {f"city^c{(label + rng.integers(2)) % 5}": 1.0, "plain": 0.5}, f"class_{label}"))
    lines = []
    for features, label in examples:
        lines.append(f"{label} | " + " ".join(f"{name}:{value!r}" for name, value in features.items()))
    (tmp_path / "train.vw").write_text("\n".join(lines[:240]))
    (tmp_path / "test.vw").write_text("\n".join(lines[240:]))
    options, same = SETTINGS[settings]
    options = "--interactions city:text" if settings == "crossed" else options
    command(capsys, "train", tmp_path / "train.vw", "-m", tmp_path / "m", "-q", *options.split())
    model = scwlearn.load(tmp_path / "m")
    labels, probabilities = predicted(capsys, tmp_path / "m", tmp_path / "test.vw")
    raw = [features for features, _ in examples[240:]]
    assert model.predict_many(raw) == labels
    assert [model.predict_proba_one(features) for features in raw] == probabilities
    again = StreamClassifier("scw1", features=model.features, **same)
    again.learn_many(*zip(*examples[:240], strict=True))
    assert again.predict_proba_many(raw).tolist() == model.predict_proba_many(raw).tolist()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", ["default", "scale", "standard", "unit"])
def test_a_libsvm_file_means_what_its_rows_mean(settings, classes, tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=300)
    x = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.6) + y[:, np.newaxis] / 3
    for name, part in (("train", slice(0, 240)), ("test", slice(240, None))):
        lines = [
            f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row) if value)
            for row, label in zip(x[part].tolist(), y[part], strict=True)
        ]
        (tmp_path / f"{name}.svm").write_text("\n".join(lines))
    options, same = SETTINGS[settings]
    form = ["--covariance", "diagonal"]
    command(capsys, "train", tmp_path / "train.svm", "-m", tmp_path / "m", "-q", *options.split(), *form)
    model = scwlearn.load(tmp_path / "m")
    labels, probabilities = predicted(capsys, tmp_path / "m", tmp_path / "test.svm")
    x = sparse.csr_array(x)
    assert model.predict(x[240:]).tolist() == labels
    found = [
        {str(k): v for k, v in zip(model.classes_, row, strict=True)} for row in model.predict_proba(x[240:]).tolist()
    ]
    assert found == probabilities
    again = SCW1(covariance="diagonal", **same).partial_fit(x[:240], y[:240])
    assert again.coef_.tolist() == model.coef_.tolist()
    assert again.predict_proba(x[240:]).tolist() == model.predict_proba(x[240:]).tolist()
    with pytest.raises(TypeError, match="numbered columns"):
        model.predict([{"x": 1.0}])
