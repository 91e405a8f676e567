"""Small model files, made with the command line or in Python."""

import numpy as np

import scwlearn
from run_examples import libsvm_text
from scwlearn.cli.app import run

CSV = """size,color,words,kind
1.5,red,"big bad
wolf",yes
0.2,blue,small cat,no
2.5,red,bad thing,yes
0.1,green,nice cat,no
1.1,red,wolf,yes
"""


def written(path, text):
    """Write a file and return its name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def trained(directory, text, *options, name="it", ending=".svm"):
    """Train a model on a text and return its file."""
    data = written(directory / f"{name}{ending}", text)
    model = str(directory / f"{name}.model")
    assert run(["train", data, "-q", "-m", model, *options]) == 0
    return model


def libsvm_model(directory, *options, classes=(-1, 1), **how):
    """Train a model on a few numbered features."""
    return trained(directory, libsvm_text(300, classes=classes, **how), *options)


def csv_model(directory, *options):
    """Train a model on a table."""
    return trained(directory, CSV, "--label", "kind", "--text", "words", *options, ending=".csv")


def arrays(classes=2, count=300, width=5, seed=0):
    """Return a matrix, and labels that depend on it with some noise."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, width))
    names = np.array(["north", "east", "south", "west"][:classes])
    return x, names[(x[:, :classes] + 0.4 * random.normal(size=(count, classes))).argmax(axis=1)]


def saved(model, path):
    """Save a model and return its file."""
    scwlearn.save(model, path)
    return str(path)


def libsvm_rows(x, label=0):
    """Return a matrix as LIBSVM text, with one label for all rows."""
    return "".join(f"{label} " + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(row, 1)) + "\n" for row in x)


def failed(capsys, *arguments, code=1):
    """Return what a failing command prints to standard error; it prints nothing else."""
    assert run([*map(str, arguments)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    return err
