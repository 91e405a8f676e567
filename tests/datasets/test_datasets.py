"""Data sets: each matches its declaration, and its checksum depends on content only."""

import io
import lzma
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from places import DATA
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.datasets import GROUPS, all_sets, data_directory, find_set, is_present, load_set, select_sets
from scwlearn.datasets.catalogue import DataFile, NamedSet
from scwlearn.datasets.load import content_sha256, file_state, read_labelled, write_labelled
from scwlearn.datasets.sources import equalise, min_max, unit_log_counts

PARTS = {part.path: part for named in all_sets() for part in named.files}
TABLE_2 = [
    ("splice", 1000, 60),
    ("svmguide3", 1243, 21),
    ("synthetic", 5000, 20),
    ("synthetic-noise", 5000, 20),
    ("mitface", 6977, 361),
    ("usps1vsall", 7291, 256),
    ("mushrooms", 8124, 112),
    ("mnist1vs2", 14867, 784),
    ("w7a", 24692, 300),
    ("codrna", 59535, 8),
    ("ijcnn1", 141691, 22),
    ("covtype", 581012, 54),
]


def content(text):
    return content_sha256(*load_libsvm(io.BytesIO(text)))


def test_paper_sets_match_table_2():
    assert [(named.name, named.rows, named.features) for named in select_sets(["paper"])] == TABLE_2


@pytest.mark.data
@pytest.mark.parametrize("named", all_sets(), ids=lambda named: named.name)
def test_a_data_set_loads_as_declared(named):
    if not is_present(named, DATA):
        pytest.skip(f"{named.name} is not in the data directory")
    data = load_set(named, DATA)
    assert (data.name, data.title, data.shuffle) == (named.name, named.title, named.shuffle)
    assert data.x.shape == (named.rows, named.features)
    assert data.x.dtype == np.float64
    assert data.y.dtype == np.int8
    assert set(np.unique(data.y)) == {-1, 1}
    assert np.count_nonzero(data.y == 1) == named.positives
    if named.dense:
        assert data.x.flags.c_contiguous
    else:
        assert data.x.format == "csr"


@pytest.mark.data
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_file_has_the_declared_content(part):
    state = file_state(part, DATA)
    if state == "missing":
        pytest.skip(f"{part.path} is not in the data directory")
    assert state == "good"


@pytest.mark.data
def test_news_rows_have_unit_length_and_full_width():
    named = find_set("news-guns-mideast")
    if not is_present(named, DATA):
        pytest.skip("20news is not in the data directory")
    x = load_set(named, DATA).x
    norms = np.sqrt(x.multiply(x).sum(axis=1))
    assert np.allclose(norms[norms > 0], 1)
    assert np.count_nonzero(norms) > 1000


def test_declarations_are_consistent():
    for named in all_sets():
        assert bool(named.files) != (named.make is not None)
        assert 0 < named.positives < named.rows
        assert named.form
        assert named.licence
        assert named.cite
        assert named.group == "variant" or named.group in GROUPS
        for part in named.files:
            assert bool(part.sources) != bool(part.by_hand)
            assert len(part.sha256) == 64
            for source in part.sources:
                assert all(url.startswith("https://") for url in source.urls)


def test_only_the_stream_keeps_its_order():
    assert [named.name for named in all_sets() if not named.shuffle] == ["elec2"]


def test_groups_and_names_select_each_set_once_and_variants_only_by_name():
    names = [named.name for named in select_sets(["digits", "all", "splice"])]
    assert names[0] == "digits"
    assert len(names) == len(set(names))
    assert set(names) == {named.name for named in all_sets()} - {"covtype-scaled"}
    assert [named.name for named in select_sets(["covtype-scaled"])] == ["covtype-scaled"]


@pytest.mark.parametrize("find", [find_set, lambda name: select_sets(["splice", name])])
def test_an_unknown_name_lists_the_known_ones(find):
    with pytest.raises(ValueError, match=r"no data set.*'variant'.*splice, svmguide3.*digits"):
        find("variant")


def test_the_directory_is_the_argument_the_variable_or_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SCWLEARN_DATA", "/from/variable")
    assert str(data_directory("/given")) == "/given"
    assert str(data_directory()) == "/from/variable"
    monkeypatch.delenv("SCWLEARN_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_directory() == tmp_path / "scwlearn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory() == tmp_path / ".cache" / "scwlearn"


@pytest.fixture
def tiny(tmp_path):
    """A set of two files with three classes, of which two count."""
    texts = {"tiny/one.libsvm.xz": b"1 1:2\n3 2:7\n", "tiny/two.libsvm.xz": b"2 1:5 3:1\n1\n"}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(text))
    return NamedSet(
        name="tiny",
        title="Tiny",
        group="extra",
        rows=3,
        features=3,
        positives=2,
        files=tuple(DataFile(name, content(text)) for name, text in texts.items()),
        positive=(1.0,),
        negative=(2.0,),
        form="as written",
        licence="none",
        cite="nobody",
    )


def test_files_are_joined_and_other_classes_dropped(tiny, tmp_path):
    data = load_set(tiny, tmp_path)
    assert data.x.tolist() == [[2, 0, 0], [5, 0, 1], [0, 0, 0]]
    assert data.y.tolist() == [1, -1, 1]
    assert [file_state(part, tmp_path) for part in tiny.files] == ["good", "good"]


def test_a_missing_file_is_named_with_a_remedy(tiny, tmp_path):
    (tmp_path / tiny.files[1].path).unlink()
    assert not is_present(tiny, tmp_path)
    assert file_state(tiny.files[1], tmp_path) == "missing"
    with pytest.raises(
        FileNotFoundError,
        match=r"tiny: .*two\.libsvm\.xz is missing; .*datasets fetch tiny.*--data-dir",
    ):
        load_set(tiny, tmp_path)


@pytest.mark.parametrize("changed", [{"rows": 4}, {"features": 4, "rows": 2}, {"positives": 1}])
def test_a_set_of_another_size_is_rejected(tiny, tmp_path, changed):
    with pytest.raises(ValueError, match=r"tiny has 3 rows.*2 rows labelled \+1, expected .*verify tiny"):
        load_set(replace(tiny, **changed), tmp_path)


def test_a_feature_beyond_the_declared_ones_is_rejected_with_its_position(tiny, tmp_path):
    with pytest.raises(ValueError, match=r"two\.libsvm\.xz.*line 1, column 7: indices must be from 1 to 2"):
        load_set(replace(tiny, features=2), tmp_path)


@pytest.mark.parametrize("broken", [b"", b"no xz", lzma.compress(b"1 1:1\n")[:-9], lzma.compress(b"1 1:nonsense\n")])
def test_a_broken_file_is_different_and_named(tiny, tmp_path, broken):
    path = tmp_path / tiny.files[0].path
    path.write_bytes(broken)
    assert file_state(tiny.files[0], tmp_path) == "different"
    with pytest.raises(ValueError, match=r"one\.libsvm\.xz"):
        load_set(tiny, tmp_path)


@pytest.mark.parametrize(
    "other",
    [
        b"+1 1:0.5 3:-2 # a comment\n-1\n",
        b"1.0   1:5e-1 3:-2.000000  \r\n-1  \n",
        b"1 3:-2 1:.5\n-1 2:0\n",
        b"1 qid:7 1:0.50 2:0 3:-2 9:-0.0\n-1",
    ],
)
def test_the_checksum_ignores_formatting(other):
    assert content(other) == content(b"1 1:0.5 3:-2\n-1\n")


@pytest.mark.parametrize(
    "other",
    [b"1 1:0.5 3:-2\n1\n", b"1 1:0.5 4:-2\n-1\n", b"1 1:0.5 3:2\n-1\n", b"-1\n1 1:0.5 3:-2\n", b"1 1:0.5\n-1 3:-2\n"],
)
def test_the_checksum_depends_on_the_content(other):
    assert content(other) != content(b"1 1:0.5 3:-2\n-1\n")


def test_the_checksum_is_stable():
    assert content(b"1 1:0.5 3:-2\n-1\n") == "08a646549adc3e0f116d9b08a6d2e8176a585b676d8d71fb37060eb773d829cd"


numbers = st.floats(-1e150, 1e150)


@given(st.lists(st.tuples(numbers, st.dictionaries(st.integers(0, 50), numbers)), min_size=1))
def test_written_files_read_back_equal(tmp_path_factory, rows):
    x = sparse.lil_array((len(rows), 51))
    for i, (_, features) in enumerate(rows):
        for j, value in features.items():
            x[i, j] = value
    labels = np.array([label for label, _ in rows])
    path = tmp_path_factory.mktemp("written") / "file.libsvm.xz"
    write_labelled(path, x, labels)
    assert content_sha256(*read_labelled(path)) == content_sha256(x, labels)
    assert [*path.parent.iterdir()] == [path]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.libsvm.xz"
    write_labelled(path, np.eye(2), np.ones(2))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_labelled(path, np.eye(3), np.ones(3))
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_preparations_compute_what_they_promise():
    assert equalise(np.array([[5.0, 5.0, 9.0, 0.0]])).tolist() == [[0.625, 0.625, 1.0, 0.25]]
    assert min_max(np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]])).tolist() == [[0, 0], [1, 0], [0.5, 0]]
    x = sparse.csr_array(np.array([[np.e - 1, 0, 0], [0, 0, 0], [3.0, 3.0, 0], [0, 0, 0]]))
    unit = unit_log_counts(x)
    assert np.allclose(unit.toarray(), [[1, 0, 0], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 0]])
    assert x[2, 0] == 3
