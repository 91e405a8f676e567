"""Servers that do not speak HTTP."""

import socket
from contextlib import suppress
from threading import Thread

import pytest

from scwlearn.data.reading import read_batches


def answer(listener):
    """Answer every request with a header that is none."""
    with suppress(OSError):
        while True:
            connection = listener.accept()[0]
            with connection:
                connection.recv(2**16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: spam\r\n\r\n")


def test_an_answer_that_is_no_http_is_reported_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=answer, args=(listener,), daemon=True).start()
        with pytest.raises(OSError, match="the server answered 400") as caught:
            read_batches([f"http://127.0.0.1:{listener.getsockname()[1]}/a.csv"])
    assert "\n" not in str(caught.value)
    assert r"\n" not in str(caught.value)
