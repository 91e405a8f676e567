"""A local web server for tests that can break connections, ignore ranges, omit lengths and return 404."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files:
    """Files of the server, its behavior, and the requests it got."""

    def __init__(self):
        self.content = {}
        self.ranges = True
        self.lengths = True
        #: Bytes to send before each response is cut off; each response takes the first entry.
        self.cuts = []
        #: (path, the Range header or None)
        self.asked = []
        self.address = ""


def _handler(files):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name, asked = self.path.lstrip("/"), self.headers.get("Range")
            files.asked.append((name, asked))
            if name not in files.content:
                self.send_error(404)
                return
            data = files.content[name]
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and files.ranges else 0
            if start and start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            body = data[start:]
            if files.lengths:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: files.cuts.pop(0)] if files.cuts else body)

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
