"""Files by URL: streamed over HTTP, found by patterns, with errors that name the URL without its credentials."""

import gzip
import io
import os
import re
import socket
import subprocess
import sys
import traceback
import tracemalloc

import fsspec
import numpy as np
import pytest

from file_server import serving
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.data.io import remote
from scwlearn.data.io.remote import is_url, without_credentials
from scwlearn.data.io.streams import expand_sources, open_source, source_name
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches
from table_text import exactly, features, label_list, made

TEXT = b"+1 1:0.5 3:2\n-1 2:1 # more\n" * 9000


@pytest.fixture
def server():
    with serving() as files:
        files.content["data.svm"] = TEXT
        yield files


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def content(source):
    with open_source(source) as stream:
        return stream.readall()


def fault(error, source):
    with pytest.raises(error) as caught:
        content(source)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    return caught.value


# URLs


def test_urls_are_told_from_paths():
    for url in ("https://a.org/x", "s3://bucket/part-*.csv", "gs://a/b", "memory://x", "zip://x.csv::https://a.org/b"):
        assert is_url(url)
    for path in ("data.csv", "/a/b", "C:\\data.csv", "c://data.csv", "a::b", "-", "*.csv", "a b://c"):
        assert not is_url(path)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.org/x.csv", "https://a.org/x.csv"),
        ("https://me@a.org/x.csv", "https://a.org/x.csv"),
        ("https://me:secret@a.org:80/@me/x@y.csv", "https://a.org:80/@me/x@y.csv"),
        ("https://me:se@cret@a.org/x.csv", "https://a.org/x.csv"),
        ("s3://KEY:sec/ret@bucket/x.csv", "s3://bucket/x.csv"),
        ("https://me:my secret@a.org/x.csv?key=my secret", "https://a.org/x.csv?key=..."),
        ("https://a.org:8080/@me/x.csv", "https://a.org:8080/@me/x.csv"),
        ("https://a.org/x?X-Sig=secret&part=2#top", "https://a.org/x?X-Sig=...&part=...#top"),
        ("s3://bucket/part-?.csv", "s3://bucket/part-?.csv"),
        ("zip://x.csv::https://me:secret@a.org/a.zip", "zip://x.csv::https://a.org/a.zip"),
        ("no answer from https://me:secret@a.org/x, https://b.org", "no answer from https://a.org/x, https://b.org"),
        ("plain/path@x?a=b", "plain/path@x?a=b"),
    ],
)
def test_credentials_are_not_shown(url, shown):
    assert without_credentials(url) == shown
    assert without_credentials(shown) == shown


# HTTP


def test_a_file_is_streamed_by_one_request(server):
    url = f"{server.address}/data.svm"
    assert content(url) == TEXT
    assert server.asked == [("data.svm", None)]
    server.lengths = False
    assert content(url) == TEXT


def test_compressed_files_are_decompressed_and_counted_as_they_are(server):
    server.content["data"] = packed = gzip.compress(TEXT)
    sizes = []
    _, batches = read_batches([f"{server.address}/data"], options=ReaderOptions(on_read=sizes.append))
    assert sum(map(len, batches)) == 18_000
    assert sum(sizes) == len(packed)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("format", ["libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow"])
def test_every_format_is_read_from_a_server(format, ranges, server):
    server.ranges = ranges
    rows = [{1: float(i), 3: 0.5} if format == "libsvm" else {"a": float(i), "b": 0.5} for i in range(2000)]
    file = io.BytesIO()
    write_batches([made(rows, [1.0, -1.0] * 1000)], file, format)
    server.content[f"some.{format}"] = file.getvalue()
    schema, batches = read_batches([f"{server.address}/some.{format}"])
    expected_schema, expected = read_batches([io.BytesIO(file.getvalue())])
    assert schema == expected_schema
    for one, other in zip(batches, expected, strict=True):
        assert features(one) == features(other)
        assert label_list(one) == label_list(other)
        assert one.source == f"{server.address}/some.{format}"
    part_requests = [asked for _, asked in server.asked if asked]
    assert bool(part_requests) == (format in ("parquet", "arrow"))


def test_a_reader_that_seeks_requests_no_more_than_it_needs(server, monkeypatch):
    monkeypatch.setattr(remote, "_BLOCK", 2**16)
    server.content["data"] = data = os.urandom(2**21)
    counted = []
    with open_source(f"{server.address}/data", counted.append) as stream:
        assert stream.read(10) == data[:10]
        assert stream.seekable()
        assert (stream.tell(), stream.read(10)) == (10, data[10:20])
        assert (stream.seek(-100, os.SEEK_END), stream.read()) == (2**21 - 100, data[-100:])
        assert (stream.seek(10**6), stream.read(5), stream.tell()) == (10**6, data[10**6 : 10**6 + 5], 10**6 + 5)
    assert [asked for _, asked in server.asked] == [None, "bytes=2031616-2097151", "bytes=1000000-1065540"]


@pytest.mark.parametrize("without", ["ranges", "lengths"])
def test_a_server_without_ranges_or_lengths_cannot_seek(without, server):
    setattr(server, without, False)
    with open_source(f"{server.address}/data.svm") as stream:
        assert stream.read(10) == TEXT[:10]
        assert not stream.seekable()
        with pytest.raises(io.UnsupportedOperation):
            stream.seek(0)
        assert stream.readall() == TEXT[10:]


def test_memory_does_not_grow_with_the_file(server):
    server.content["data"] = b"1 1:1\n" * 2**24
    program = """if True:
        import resource, sys
        from scwlearn.data.io.streams import open_source
        most = []
        for name in ("data.svm", "data"):
            with open_source(f"{sys.argv[1]}/{name}") as stream:
                memory, count = bytearray(2**20), 0
                while size := stream.readinto(memory):
                    count += size
            most.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        print(count, most[1] - most[0])
    """
    done = subprocess.run([sys.executable, "-c", program, server.address], capture_output=True, text=True, check=True)
    count, kilobytes = map(int, done.stdout.split())
    assert count == 6 * 2**24
    assert kilobytes < 20_000


def test_decompressed_data_is_not_held_as_a_whole(server):
    server.content["data"] = gzip.compress(b"\n" * 2**26)
    count, memory = 0, bytearray(2**16)
    with open_source(f"{server.address}/data") as stream:
        tracemalloc.start()
        while size := stream.readinto(memory):
            count += size
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 2**26
    assert most < 2**23


def test_a_password_is_sent_but_not_shown(server):
    url = server.address.replace("http://", "http://me:secret@") + "/data.svm"
    (source,) = expand_sources([url])
    assert source_name(source) == source_name(url) == f"{server.address}/data.svm"
    assert "secret" not in repr(source)
    assert content(source) == content(url) == TEXT
    assert set(server.authorizations) == {"Basic bWU6c2VjcmV0"}


def test_the_query_is_sent_and_does_not_hide_the_suffix(server):
    server.content["data.tsv"] = b"label\n1\n2\n"
    schema, batches = read_batches([f"{server.address}/data.tsv?key=1"], label="label")
    assert schema.format == "tsv"
    assert [batch.source for batch in batches] == [f"{server.address}/data.tsv?key=..."]
    assert server.asked == [("data.tsv?key=1", None)]


def test_a_whole_file_can_be_loaded(server):
    x, labels = load_libsvm(f"{server.address}/data.svm")
    assert (x.shape, labels.sum()) == ((18_000, 3), 0)


# Errors


def test_errors_of_the_server_are_reported(server):
    server.errors = {"private": 403, "broken": 500}
    for name, error, answer in (
        ("missing", FileNotFoundError, "[Errno 2] the server answered 404 Not Found"),
        ("private", PermissionError, "[Errno 13] the server answered 403 Forbidden"),
        ("broken", OSError, "[Errno 5] the server answered 500 Internal Server Error"),
    ):
        url = server.address.replace("http://", "http://me:secret@") + f"/{name}?key=secret"
        assert str(fault(error, url)) == f"{answer}: '{server.address}/{name}?key=...'"


def test_a_file_that_vanishes_after_it_was_found_is_reported(server):
    (source,) = expand_sources([f"{server.address}/data.svm"])
    del server.content["data.svm"]
    message = f"[Errno 2] No such file or directory: '{server.address}/data.svm'"
    assert str(fault(FileNotFoundError, source)) == message


def test_a_missing_file_is_reported_before_any_is_read(server):
    with pytest.raises(FileNotFoundError, match="answered 404"):
        read_batches([f"{server.address}/data.svm", f"{server.address}/missing"])
    assert server.asked == [("missing", None)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_host_without_a_server_is_reported():
    port = free_port()
    found = fault(ConnectionError, f"http://me:secret@127.0.0.1:{port}/data.svm")
    reason = f"no connection (Connect call failed ('127.0.0.1', {port}))"
    assert str(found) == f"[Errno {found.errno}] {reason}: 'http://127.0.0.1:{port}/data.svm'"
    with pytest.raises(ConnectionError, match="no connection"):
        expand_sources([f"http://127.0.0.1:{port}/*.svm"])


def test_a_server_that_does_not_answer_is_reported(monkeypatch):
    monkeypatch.setattr(remote, "_TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/data.svm"
        assert str(fault(OSError, url)) == f"[Errno 5] no answer within 0.05 seconds: '{url}'"


@pytest.mark.parametrize("read_ahead", [True, False])
def test_a_connection_that_breaks_is_reported_after_the_lines_before(server, read_ahead):
    server.content["data.svm"] = text = TEXT * 20
    server.cuts = [3_000_000]
    seen = 0
    _, batches = read_batches([f"{server.address}/data.svm"], options=ReaderOptions(read_ahead=read_ahead))
    with pytest.raises(OSError, match="broke") as caught:  # noqa: PT012
        for batch in batches:
            seen += len(batch)
    url, size = re.escape(f"{server.address}/data.svm"), len(text)
    message = rf"\[Errno 5\] the connection broke after (\d+) of {size} bytes: '{url}'"
    count = int(re.fullmatch(message, str(caught.value))[1])
    # aiohttp drops what it has received but not passed on.
    assert 3_000_000 - 4 * remote._READ < count <= 3_000_000
    assert seen == text[:count].count(b"\n")


def test_truncated_data_without_a_length_is_noticed_by_gzip(server):
    server.content["data.gz"] = gzip.compress(os.urandom(200_000))
    server.lengths, server.cuts = False, [100_000, 100_000]
    message = rf"{re.escape(server.address)}/data\.gz: truncated gzip data after \d+ decompressed bytes"
    assert re.fullmatch(message, str(fault(ValueError, f"{server.address}/data.gz")))


@pytest.mark.parametrize(
    ("missing", "url", "message"),
    [
        ("fsspec", "https://a.org/x", "https:// needs the package fsspec (pip install 'scwlearn[remote]')"),
        ("aiohttp", "https://a.org/x", "https:// needs the package aiohttp (pip install 'scwlearn[remote]')"),
        ("s3fs", "s3://bucket/x-*.csv", "s3:// needs the package s3fs (pip install s3fs)"),
        ("gcsfs", "gs://bucket/x.csv", "gs:// needs the package gcsfs (pip install gcsfs)"),
        ("paramiko", "sftp://me:secret@host/x", "sftp:// needs the package paramiko (pip install paramiko)"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, missing, url, message):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ValueError, match=exactly(f"{without_credentials(url)}: {message}")):
        expand_sources([url])


def test_an_unknown_protocol_is_rejected():
    hint = "fsspec knows http, https, s3, gs, az, ftp, sftp and others"
    with pytest.raises(ValueError, match=exactly(f"spam://a/b: unknown protocol 'spam' ({hint})")):
        expand_sources(["spam://me:secret@a/b"])


class Failing(io.RawIOBase):
    """A file of a store whose reads fail."""

    def read(self, size=-1):
        raise RuntimeError("token of https://me:secret@store expired\nmore")


def test_errors_of_any_file_system_are_one_sentence(memory, monkeypatch):
    memory.pipe("/a.svm", TEXT)
    (source,) = expand_sources(["memory://a.svm"])
    monkeypatch.setattr(type(memory), "_open", lambda *_, **__: Failing())
    message = (
        f"[Errno 5] reading failed after 0 of {len(TEXT)} bytes (token of https://store expired): 'memory://a.svm'"
    )
    assert str(fault(OSError, source)) == message
    monkeypatch.setattr(type(memory), "info", lambda *_: Failing().read())
    message = "[Errno 5] token of https://store expired: 'memory://a.svm'"
    assert str(fault(OSError, "memory://a.svm")) == message


def test_a_file_that_is_shorter_than_announced_is_reported(memory):
    memory.pipe("/a.svm", TEXT)
    (source,) = expand_sources(["memory://a.svm"])
    memory.pipe("/a.svm", TEXT[:-5])
    message = f"[Errno 5] reading failed after {len(TEXT) - 5} of {len(TEXT)} bytes: 'memory://a.svm'"
    assert str(fault(OSError, source)) == message


# Patterns, and other file systems


def test_patterns_find_files_where_the_file_system_lists(memory):
    for name in ("b/part-2.svm.gz", "b/part-1.svm.gz", "b/part-1/x.svm.gz", "b/other"):
        memory.pipe(f"/{name}", gzip.compress(TEXT))
    found = expand_sources(["memory://b/part-*.svm.gz"])
    assert [file.name for file in found] == ["memory:///b/part-1.svm.gz", "memory:///b/part-2.svm.gz"]
    assert [file.size for file in found] == [len(gzip.compress(TEXT))] * 2
    assert [len(expand_sources([f"memory://b/{each}"])) for each in ("part-?.svm.gz", "[o]*", "**", "*")] == [
        2,
        1,
        4,
        3,
    ]
    _, batches = read_batches(["memory://b/part-*.svm.gz", "memory://b/other"])
    assert sum(map(len, batches)) == 3 * 18_000
    message = "memory://b/part-*.svm.gz: a pattern that 2 files match; give one of them"
    with pytest.raises(ValueError, match=exactly(message)):
        load_libsvm("memory://b/part-*.svm.gz")


def test_a_pattern_without_files_and_a_directory_are_rejected(memory):
    memory.pipe("/b/dir/x", TEXT)
    for pattern in ("memory://b/*.csv", "memory://b/d*", "memory://c/*"):
        with pytest.raises(FileNotFoundError, match=exactly(f"[Errno 2] no file matches this pattern: '{pattern}'")):
            expand_sources([pattern])
    message = "[Errno 21] a directory; use a pattern for its files, such as /*: 'memory://b/dir'"
    with pytest.raises(IsADirectoryError, match=exactly(message)):
        expand_sources(["memory://b/dir"])
    with pytest.raises(FileNotFoundError, match=exactly("[Errno 2] No such file or directory: 'memory://b/x'")):
        expand_sources(["memory://b/x"])


def test_patterns_use_the_links_of_a_page(server):
    server.content["dir/"] = b'<a href="2.svm">2</a> <a href="1.svm">1</a> <a href="readme">readme</a>'
    for name in ("dir/1.svm", "dir/2.svm"):
        server.content[name] = TEXT
    address = server.address.replace("http://", "http://me:secret@")
    found = expand_sources([f"{address}/dir/*.svm"])
    assert [file.name for file in found] == [f"{server.address}/dir/{n}.svm" for n in (1, 2)]
    assert [(file.size, content(file)) for file in found] == [(len(TEXT), TEXT)] * 2
    message = f"[Errno 2] no file matches this pattern: '{server.address}/dir/*.csv'"
    with pytest.raises(FileNotFoundError, match=exactly(message)):
        expand_sources([f"{address}/dir/*.csv"])


def test_local_files_and_chains_of_file_systems_are_read(tmp_path, server):
    assert content(f"simplecache::{server.address}/data.svm") == TEXT
    path = tmp_path / "data.svm"
    path.write_bytes(TEXT)
    assert content(f"file://{path}") == TEXT
    np.savez(tmp_path / "some.zip", x=np.zeros(3))
    assert content(f"zip://x.npy::file://{tmp_path}/some.zip.npz").startswith(b"\x93NUMPY")


def test_a_file_whose_name_looks_like_a_url_is_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory:").mkdir()
    (tmp_path / "memory:" / "x").write_bytes(TEXT)
    assert expand_sources(["memory://x"]) == ["memory://x"]
    assert content("memory://x") == TEXT


def test_local_data_needs_neither_fsspec_nor_decoders(tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(TEXT)
    program = "import sys; from scwlearn.data.reading import read_batches; [*read_batches(sys.argv[1:])[1]]"
    program += "; print(*{'fsspec', 'aiohttp', 'isal', 'backports.zstd'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
