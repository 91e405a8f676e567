"""A local web server for tests that can break connections, ignore ranges, omit lengths and return errors."""

import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files:
    """Files of the server, its behavior, and the requests it got."""

    def __init__(self):
        self.content = {}
        self.ranges = True
        self.lengths = True
        #: Bytes to send before each response is cut off; each response takes the first entry.
        self.cuts = []
        #: Status codes by path, instead of the content.
        self.errors = {}
        #: (path, the Range header or None) of each request for content
        self.asked = []
        #: The Authorization headers of all requests
        self.authorizations = []
        self.address = ""


def _handler(files):
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.answer()

        def do_GET(self):
            files.asked.append((self.path.lstrip("/"), self.headers.get("Range")))
            body = self.answer()
            # The client may have closed the connection.
            with suppress(ConnectionError):
                self.wfile.write(body[: files.cuts.pop(0)] if files.cuts else body)

        def answer(self):
            """Send the head of a response and return its body."""
            files.authorizations.append(self.headers.get("Authorization"))
            name, asked = self.path.lstrip("/").partition("?")[0], self.headers.get("Range")
            if name in files.errors or name not in files.content:
                self.send_error(files.errors.get(name, 404))
                return b""
            data = files.content[name]
            start, _, last = (asked or "bytes=-").removeprefix("bytes=").partition("-")
            start, end = (int(start or 0), int(last or len(data)) + 1) if files.ranges else (0, len(data))
            if start and start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.end_headers()
                return b""
            body = data[start:end]
            is_part = bool(asked and files.ranges)
            self.send_response(206 if is_part else 200)
            if is_part:
                self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(data)}")
            if files.lengths:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return body

        def log_message(self, *arguments):
            pass

    return Handler


@contextmanager
def serving():
    files = Files()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(files)) as server:
        files.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield files
        finally:
            server.shutdown()
            thread.join()
