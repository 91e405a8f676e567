"""Files by URL, through fsspec: web servers, object stores and whatever else it knows."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from scwlearn.data.io.errors import DataError

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(?:://|::.*://)")
# User and password in front of a host; a path made of a URL has dropped a slash. A password may contain a slash, where
# a port would be a number.
_USER = re.compile(r"(?<=[a-zA-Z0-9+.-]{2}:/)(/?)(?:[^/?#]*@|[^/?#@:]+:(?!:|\d*(?:[/?#\s]|$))[^@]*@)")
# Values in the query of a URL; signed URLs have their signatures there.
_VALUE = re.compile(r"(?<=[?&])([^=&#]+=)[^&#]*")
# What precedes the first wildcard of a pattern: its directory, and part of a name. In a web address, a question mark
# begins the query, and the host may have brackets.
_PATTERN = re.compile(r"((?:[^*?[]*/)?)[^/*?[]*[*?[]")
_HTTP_PATTERN = re.compile(r"(https?://[^/?#]*/(?:[^?#*[]*/)?)[^/?#*[]*[*[]")
# Bytes that are requested at a time where a file can seek.
_BLOCK = 4 * 2**20
# Bytes that are read at a time. When a connection breaks, aiohttp drops about twice as many that it has received.
_READ = 2**18
# Bytes at the end of a file that are requested to find out whether the server can send a range.
_TAIL = 2**16
# Seconds without an answer. aiohttp's own limit is 5 minutes for a whole file.
_TIMEOUT = 60


def is_url(path: str) -> bool:
    """Return whether a path is a URL: ``https://...``, ``s3://...`` or a chain such as ``zip://...::https://...``."""
    return _URL.match(path) is not None


def without_credentials(text: str) -> str:
    """Return a text without the users, passwords and query values of the URLs in it.

    Examples
    --------
    >>> from scwlearn.data.io.remote import without_credentials
    >>> without_credentials("https://me:secret@example.org/a.csv?token=123")
    'https://example.org/a.csv?token=...'
    """
    return _VALUE.sub(r"\1...", _USER.sub(r"\1", text)) if ":/" in text else text


class RemoteFile:
    """A file that has been found by its URL.

    Attributes
    ----------
    name : str
        The URL without credentials.
    size : int or None
        Its size in bytes, if known.
    local_paths : list of str
        The files of this machine that it is read from: of ``file://``, and of archives in such a file.
    """

    def __init__(self, system: Any, path: str, url: str, size: int | None, *, local_paths: Sequence[str] = ()) -> None:
        self.system, self.path, self.size = system, path, size
        self.name, self.local_paths = without_credentials(url), [*local_paths]

    @property
    def is_http(self) -> bool:
        """Whether it is read by HTTP requests."""
        return "http" in self.system.protocol

    def open(self) -> io.RawIOBase:
        """Open the file for reading."""
        return _Reading(self)


def find_remote(url: str) -> list[RemoteFile]:
    """Return the file with a URL, or the files that match it if it is a pattern, in sorted order.

    Raises
    ------
    DataError
        If a package is missing, or fsspec does not know the protocol.
    OSError
        If there is no such file, or it cannot be reached.
    """
    name = without_credentials(url)
    system, path = _file_system(url)
    root = _pattern_root(path)
    with _os_errors(name):
        if root is None:
            found = {path: system.info(path)}
        else:
            found = system.glob(path, detail=True)
            if not found:
                # A listing hides errors; this raises them.
                with suppress(FileNotFoundError):
                    system.ls(root)
            files = sorted(each for each in found if found[each]["type"] != "directory")
            # Lists of links have no sizes.
            found = {each: found[each] if found[each].get("size") else system.info(each) for each in files}
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", name)
    if root is None and found[path]["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, "a directory; use a pattern for its files, such as /*", name)
    urls = {each: url if root is None else system.unstrip_protocol(each) for each in found}
    _, *outer = url.split("::")
    return [
        RemoteFile(system, each, urls[each], info.get("size"), local_paths=_local_paths([urls[each], *outer]))
        for each, info in found.items()
    ]


def _local_paths(links: Iterable[str]) -> list[str]:
    """Return the paths of the links of a URL that are files of this machine."""
    import fsspec

    split = [fsspec.core.split_protocol(link) for each in links for link in each.split("::")]
    local = [path for protocol, path in split if protocol in (None, "file", "local")]
    # A link without a path is a protocol, as in simplecache::https://...
    return [path for path in local if path not in fsspec.available_protocols()]


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    name, protocol = without_credentials(url), re.split("://|::", url)[0]
    try:
        import fsspec

        if protocol not in fsspec.available_protocols():
            hint = "fsspec knows http, https, s3, gs, az, ftp, sftp and others"
            raise DataError(f"unknown protocol {protocol!r}", source=name, hint=hint)
        options = {each: _http_options(fsspec) for each in ("http", "https") if f"{each}://" in url}
        with _os_errors(name):
            system, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        package = (cause.name or str(cause)).partition(".")[0]
        extra = package in ("fsspec", "aiohttp")
        hint = "pip install 'scwlearn[remote]'" if extra else f"pip install {package}"
        raise DataError(f"{protocol}:// needs the package {package}", source=name, hint=hint) from None
    return system, path


def _http_options(fsspec: Any) -> dict[str, Any]:
    """Return the options of HTTP requests; the user may have configured others."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=_TIMEOUT)
    configured = {**fsspec.config.conf.get("http", {}), **fsspec.config.conf.get("https", {})}
    # trust_env: proxies from environment variables, passwords from ~/.netrc.
    return {"client_kwargs": {"trust_env": True, "timeout": timeout, **configured.get("client_kwargs", {})}}


def _pattern_root(path: str) -> str | None:
    """Return the directory in front of the first wildcard of a path; None if it has none."""
    found = (_HTTP_PATTERN if path.startswith(("http://", "https://")) else _PATTERN).match(path)
    return None if found is None else found[1]


class _Reading(io.RawIOBase):
    """An open remote file.

    Over HTTP, one request streams the file. Only a reader that has to seek makes requests for parts of it.
    """

    def __init__(self, file: RemoteFile) -> None:
        super().__init__()
        self._file: Any = io.BytesIO()
        self.name, self._remote = file.name, file
        self._position = 0
        self._can_seek: bool | None = None
        # A size of 1 saves a request for the size; streaming does not use it.
        how = {"block_size": 0, "size": 1} if file.is_http else {"block_size": _BLOCK}
        with _os_errors(self.name):
            self._file = file.system.open(file.path, "rb", **how)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and return the number of bytes: 0 at the end."""
        try:
            data = self._file.read(min(len(memory), _READ))
        except Exception as error:
            # aiohttp says at length that bytes are missing.
            raise self._broken("" if type(error).__name__ == "ClientPayloadError" else _reason(error)) from None
        if not data and len(memory) and self._position < (self._remote.size or 0):
            raise self._broken()
        memory[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _broken(self, reason: str = "") -> OSError:
        what = "the connection broke" if self._remote.is_http else "reading failed"
        of = "" if self._remote.size is None else f" of {self._remote.size}"
        message = f"{what} after {self._position}{of} bytes" + f" ({reason})" * bool(reason)
        return OSError(errno.EIO, message, self.name)

    def seekable(self) -> bool:
        """Return whether the file can seek; over HTTP, this takes a request."""
        if self._can_seek is None:
            self._can_seek = self._request_ranges() if self._remote.is_http else bool(self._file.seekable())
        return self._can_seek

    def _request_ranges(self) -> bool:
        """Read the rest by requests for ranges, if the server can send them; return whether it can."""
        remote = self._remote
        if remote.size is None or remote.size <= 1:
            return False
        try:
            ranges = remote.system.open(remote.path, "rb", block_size=_BLOCK, size=remote.size, cache_type="readahead")
            # A server without ranges would send the beginning.
            ranges.seek(max(1, remote.size - _TAIL))
            ranges.read(1)
            ranges.seek(self._position)
        except Exception:
            return False
        self._file.close()
        self._file = ranges
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to an offset."""
        if not self.seekable():
            raise io.UnsupportedOperation("seek")
        self._position = int(self._file.seek(offset, whence))
        return self._position

    def tell(self) -> int:
        """Return the offset."""
        return self._position

    def close(self) -> None:
        """Close the file, and its connection."""
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _os_errors(name: str) -> Iterator[None]:
    """Turn errors of a file system into OSErrors of one sentence; they may be of any type."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise _os_error(error, name) from None


def _os_error(error: BaseException, name: str) -> OSError:
    # fsspec reports every failed request for the size of a web file as a missing file.
    if isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    status = getattr(error, "status", None)
    if isinstance(status, int):
        number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}.get(status, errno.EIO)
        # aiohttp quotes an invalid header on more lines.
        reason = str(getattr(error, "message", "")).partition("\n")[0]
        return OSError(number, f"the server answered {status} {reason}".rstrip(": "), name)
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    cause = getattr(error, "os_error", None)
    if cause is not None:
        return ConnectionError(errno.EHOSTUNREACH, f"no connection ({_reason(cause)})", name)
    return OSError(getattr(error, "errno", None) or errno.EIO, _reason(error), name)


def _reason(error: BaseException) -> str:
    """Return the message of an error on one line."""
    text = getattr(error, "strerror", None) or str(error).split("\n")[0]
    if isinstance(error, TimeoutError) and not getattr(error, "strerror", None):
        return f"no answer within {_TIMEOUT} seconds"
    return without_credentials(text) or type(error).__name__
