"""Fetching: a file has the declared content or does not exist, whatever a server does."""

import bz2
import gzip
import hashlib
import io
import lzma
import socket
import threading
from functools import partial

import numpy as np
import pytest

from file_server import serving
from places import DATA
from recording_reporter import RecordingReporter
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.datasets import find_set
from scwlearn.datasets.catalogue import DataFile, NamedSet
from scwlearn.datasets.fetch import FetchError, download_path, fetch
from scwlearn.datasets.load import content_sha256, file_state, read_labelled
from scwlearn.datasets.sources import Source, read_digits, read_libsvm_text, read_table

# Long enough for several chunks; all lines differ, so that a misplaced piece is noticed.
TEXT = b"".join(b"%d 1:%d 3:0.%d\n" % ((-1) ** i, i, i + 1) for i in range(20_000))
SHA256 = content_sha256(*load_libsvm(io.BytesIO(TEXT)))
LIMIT = 2**20


@pytest.fixture
def files():
    with serving() as files:
        files.content["tiny"] = TEXT
        yield files


def tiny(*urls, sha256=SHA256, read=None, limit=LIMIT, by_hand=""):
    """A set of one file, with sources of one address each."""
    sources = tuple(Source((url,), read or read_libsvm_text, limit) for url in urls)
    return NamedSet(
        name="tiny",
        title="Tiny",
        group="extra",
        rows=20_000,
        features=3,
        positives=10_000,
        files=(DataFile("tiny/tiny.libsvm.xz", sha256, sources, by_hand),),
        form="as written",
        licence="none",
        cite="none",
    )


def fetched(named, cache):
    """Fetch it, see that it is good and that nothing else is there; what was reported."""
    report = RecordingReporter()
    assert fetch(named, cache, report, timeout=5) == [cache / named.files[0].path]
    assert file_state(named.files[0], cache) == "good"
    assert left(cache) == ["tiny.libsvm.xz"]
    assert report.now + report.before == pytest.approx(1)
    return report


def left(cache):
    return sorted(path.name for path in (cache / "tiny").iterdir())


def fails(named, cache, match):
    with pytest.raises(FetchError, match=match) as caught:
        fetch(named, cache, RecordingReporter(), timeout=5)
    assert not (cache / named.files[0].path).exists()
    return str(caught.value)


def begun(url, cache, data):
    """Leave files as an earlier run would."""
    (cache / "tiny").mkdir()
    download_path(url, cache / "tiny").write_bytes(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_file_is_fetched_in_any_compression(files, tmp_path, pack):
    files.content["tiny"] = pack(TEXT)
    fetched(tiny(f"{files.address}/tiny"), tmp_path)
    assert files.asked == [("tiny", None)]


def test_a_good_file_is_not_fetched_again(files, tmp_path):
    named = tiny(f"{files.address}/tiny")
    fetched(named, tmp_path)
    assert fetched(named, tmp_path).before == 1
    assert len(files.asked) == 1


def test_a_different_file_is_fetched_again(files, tmp_path):
    named = tiny(f"{files.address}/tiny")
    (tmp_path / "tiny").mkdir()
    (tmp_path / named.files[0].path).write_bytes(lzma.compress(b"1 1:1\n"))
    fetched(named, tmp_path)


def test_a_broken_connection_is_resumed(files, tmp_path):
    files.cuts = [100_000, 50_000]
    fetched(tiny(f"{files.address}/tiny"), tmp_path)
    assert files.asked == [("tiny", None), ("tiny", "bytes=100000-"), ("tiny", "bytes=150000-")]


def test_a_server_without_ranges_is_asked_again(files, tmp_path):
    files.ranges = False
    files.cuts = [100_000]
    fetched(tiny(f"{files.address}/tiny"), tmp_path)
    assert len(files.asked) == 2


def test_a_connection_that_keeps_breaking_fails_and_is_resumed_next_time(files, tmp_path):
    named = tiny(f"{files.address}/tiny")
    files.cuts = [1000, 1000, 1000]
    fails(named, tmp_path, r"broke 3 times .*; 3000 bytes are kept")
    files.asked.clear()
    report = fetched(named, tmp_path)
    assert files.asked == [("tiny", "bytes=3000-")]
    assert 0 < report.before < 0.1


def test_a_killed_download_is_resumed(files, tmp_path):
    url = f"{files.address}/tiny"
    begun(url, tmp_path, TEXT[:200_000])
    assert fetched(tiny(url), tmp_path).before > 0.3
    assert files.asked == [("tiny", "bytes=200000-")]


def test_a_complete_download_is_not_repeated(files, tmp_path):
    url = f"{files.address}/tiny"
    begun(url, tmp_path, TEXT)
    assert fetched(tiny(url), tmp_path).before == pytest.approx(0.9)
    assert files.asked == [("tiny", f"bytes={len(TEXT)}-")]


@pytest.mark.parametrize("old", [b"another file", b"2" * (len(TEXT) + 1)], ids=["shorter", "longer"])
def test_the_remains_of_another_file_are_discarded(files, tmp_path, old):
    url = f"{files.address}/tiny"
    begun(url, tmp_path, old)
    fetched(tiny(url), tmp_path)
    assert files.asked[-1] == ("tiny", None)


def test_a_response_without_a_length_is_accepted(files, tmp_path):
    files.lengths = False
    fetched(tiny(f"{files.address}/tiny"), tmp_path)


def test_the_next_source_is_tried(files, tmp_path):
    files.content["other"] = TEXT[:-200]
    urls = [f"{files.address}/{name}" for name in ("missing", "other", "tiny")]
    fetched(tiny(*urls), tmp_path)
    assert [name for name, _ in files.asked] == ["missing", "other", "tiny"]


def test_a_server_error_lists_the_attempts_and_a_remedy(files, tmp_path):
    message = fails(tiny(f"{files.address}/one", f"{files.address}/two"), tmp_path, "404 Not Found")
    assert message.splitlines()[1:3] == [
        f"  {files.address}/{name}: the server answered 404 Not Found" for name in ("one", "two")
    ]
    assert "put the file into a directory as tiny/tiny.libsvm.xz" in message
    assert "--data-dir or SCWLEARN_DATA" in message


def test_a_missing_connection_is_reported(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    fails(tiny(f"http://127.0.0.1:{port}/tiny"), tmp_path, r"no connection \(.*refused.*\)")


def test_a_silent_server_times_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        named = tiny(f"http://127.0.0.1:{silent.getsockname()[1]}/tiny")
        with pytest.raises(FetchError, match=r"broke 3 times \(timed out\)"):
            fetch(named, tmp_path, RecordingReporter(), timeout=0.05)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.replace(b"1:77 ", b"1:78 "),
        b"<html>not what you want</html>",
        b"",
        gzip.compress(TEXT)[:-20],
        bz2.compress(TEXT)[:-20],
        lzma.compress(TEXT)[:-20],
        b"\x1f\x8b nonsense",
    ],
)
def test_wrong_content_leaves_nothing_behind(files, tmp_path, content):
    files.content["tiny"] = content
    fails(tiny(f"{files.address}/tiny"), tmp_path, r"/tiny: .*; nothing was kept")
    assert left(tmp_path) == []
    assert len(files.asked) == 1


@pytest.mark.parametrize("lengths", [True, False])
def test_a_file_that_is_too_large_is_rejected(files, tmp_path, lengths):
    files.lengths = lengths
    named = tiny(f"{files.address}/tiny", limit=len(TEXT) - 1)
    fails(named, tmp_path, rf"larger than the allowed {len(TEXT) - 1} bytes")
    assert left(tmp_path) == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_decompresses_too_large_is_rejected(files, tmp_path, pack):
    files.content["tiny"] = pack(TEXT)
    fails(
        tiny(f"{files.address}/tiny", limit=len(TEXT) - 1), tmp_path, rf"larger than the allowed {len(TEXT) - 1} bytes"
    )
    assert left(tmp_path) == []


def test_a_set_without_a_source_explains_how_to_make_it(tmp_path):
    fails(tiny(by_hand="from a drawer"), tmp_path, r"cannot be fetched.*tiny\.libsvm\.xz is missing.*from a drawer")


def test_a_set_without_files_needs_nothing(tmp_path):
    assert fetch(find_set("synthetic"), tmp_path / "cache", RecordingReporter()) == []
    assert not (tmp_path / "cache").exists()


def test_concurrent_fetches_do_not_interfere(files, tmp_path):
    named = tiny(f"{files.address}/tiny")
    runs = [threading.Thread(target=fetch, args=(named, tmp_path, RecordingReporter())) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    fetched(named, tmp_path)
    assert len(files.asked) == 1


def test_tables_are_read_with_label_column_header_and_decimals(files, tmp_path):
    files.content["table"] = b"a,b,up\n0.5,0.07385599999999999,1\n0,2e-3,0\n"
    sha256 = content_sha256(*load_libsvm(io.BytesIO(b"1 1:0.5 2:0.073856\n-1 2:0.002\n")))
    read = partial(read_table, label_column=-1, header=True, decimals=6, label_scale=2, label_offset=-1)
    fetched(tiny(f"{files.address}/table", sha256=sha256, read=read), tmp_path)
    files.content["blanks"] = b"6.0000 -1.0000  0.6310\n-5.0000 0 1 \n"
    sha256 = content_sha256(*load_libsvm(io.BytesIO(b"6 1:-1 2:0.631\n-5 2:1\n")))
    fetched(
        tiny(
            f"{files.address}/blanks", sha256=sha256, read=partial(read_table, label_column=0, delimiter="whitespace")
        ),
        tmp_path,
    )


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


def test_images_of_two_digits_are_collected_from_all_files(files, tmp_path):
    images = np.arange(24).reshape(6, 2, 2) * 10
    raw = {
        "images": idx(images[:4]),
        "labels": idx(np.array([1, 7, 2, 1])),
        "more-images": idx(images[4:]),
        "more-labels": idx(np.array([0, 2])),
    }
    checksums = [hashlib.sha256(data).hexdigest() for data in raw.values()]
    files.content.update({name: gzip.compress(data) for name, data in raw.items()})
    expected = content_sha256(images[[0, 2, 3, 5]].reshape(4, 4), np.array([1, -1, 1, -1]))
    read = partial(read_digits, positive=1, negative=2, sha256=checksums)
    source = Source(tuple(f"{files.address}/{name}" for name in raw), read, LIMIT)
    named = NamedSet(**{**vars(tiny()), "files": (DataFile("tiny/tiny.libsvm.xz", expected, (source,)),)})
    fetched(named, tmp_path)

    files.content["more-labels"] = gzip.compress(idx(np.array([0, 1])))
    fails(named, tmp_path / "elsewhere", "file 4 has other content than expected")


def as_published(path, examples):
    """The file as its first public source spells it, from what we have."""
    x, labels = examples
    if path.startswith("usps"):
        lines = io.BytesIO()
        for row, label in zip(x.toarray(), labels, strict=True):
            words = " ".join(f"{i}:{value:.6f}" for i, value in enumerate(row.tolist(), 1))
            lines.write(f"{label + 1:.0f} {words} \n".encode())
        return gzip.compress(lines.getvalue(), 1)
    rows = np.column_stack([labels, x.toarray()] if path.startswith("svmguide3") else [x.toarray(), labels])
    if path.startswith("elec2"):
        rows[:, -1] = rows[:, -1] > 0
    heading = "" if path.startswith("covtype") else ",".join(map(str, range(rows.shape[1]))) + "\n"
    return (heading + "".join(",".join(f"{v:.17g}" for v in row) + "\n" for row in rows.tolist())).encode()


@pytest.mark.data
@pytest.mark.parametrize("name", ["svmguide3", "usps1vsall", "elec2"])
def test_a_set_is_made_from_its_published_source(name, files, tmp_path):
    named = find_set(name)
    (part,) = named.files
    if not (DATA / part.path).exists():
        pytest.skip(f"{name} is not in the data directory")
    files.content["published"] = as_published(part.path, read_labelled(DATA / part.path))
    first = part.sources[0]
    here = DataFile(part.path, part.sha256, (Source((f"{files.address}/published",), first.read, first.max_bytes),))
    fetch(NamedSet(**{**vars(named), "files": (here,)}), tmp_path, RecordingReporter())
    assert file_state(part, tmp_path) == "good"


@pytest.mark.slow
@pytest.mark.data
def test_mnist1vs2_is_made_from_the_original_files(files, tmp_path):
    (part,) = find_set("mnist1vs2").files
    packed = {
        url: DATA / "mnist" / (url.rpartition("/")[2].removesuffix(".gz") + ".xz") for url in part.sources[0].urls
    }
    if not all(path.exists() for path in packed.values()):
        pytest.skip("MNIST is not in the data directory")
    files.content = {path.name: path.read_bytes() for path in packed.values()}
    urls = tuple(f"{files.address}/{path.name}" for path in packed.values())
    here = DataFile(part.path, part.sha256, (Source(urls, part.sources[0].read, part.sources[0].max_bytes),))
    fetch(NamedSet(**{**vars(find_set("mnist1vs2")), "files": (here,)}), tmp_path, RecordingReporter())
    assert file_state(part, tmp_path) == "good"
