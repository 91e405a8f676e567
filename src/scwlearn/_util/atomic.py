"""Atomic file replacement, and locks on files: the file at a path is complete at any moment, even after a crash."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from scwlearn._util.special import MOST_LINKS, is_special, whole_special

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Path = str | os.PathLike[str]
Bytes = bytes | bytearray | memoryview


def write_atomically(path: Path, content: Bytes | Iterable[Bytes]) -> None:
    """Write a file so that `path` holds either the old content or all of the new, even after a crash.

    Parameters
    ----------
    path : str or path
        The file to create or replace. A symbolic link is followed, and the mode of an existing file is kept.
    content : bytes or iterable of bytes
        The new content, in one piece or in chunks.

    Raises
    ------
    OSError
        If the file cannot be written; the old file is then unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn._util.atomic import write_atomically
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_atomically(os.path.join(directory, "page.html"), [b"<p>", b"Hello"])
    ...     os.listdir(directory)
    ['page.html']
    """
    with atomic_file(path) as file:
        for chunk in [content] if isinstance(content, Bytes) else content:
            file.write(chunk)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a seekable temporary file that replaces `path` when the block ends without an error.

    After an error the temporary file is removed and `path` is unchanged. Only a killed process leaves the temporary
    file behind, which nobody else can read. A device or a pipe is not replaced: the content is written to it when it is
    complete.
    """
    target = _resolved(path)
    if is_special(path):
        with whole_special(path) as file:
            yield file
        return
    mode = _replaced_mode(target, path)
    directory = os.path.dirname(target)
    # The length is fixed: a suffix on the target's name could exceed the limit for file names.
    temporary = os.path.join(directory, f".{os.urandom(8).hex()}.scwlearn.tmp")
    try:
        try:
            if mode is None:
                mode = _mode_of_new_file(temporary)
            with open(_create(temporary, 0o600), "r+b") as file:
                yield file
                file.flush()
                os.chmod(temporary, mode)
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if error.filename in (None, temporary):
            # Name the file that the caller asked for.
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync_directory(directory)


def start_writeback(file: BinaryIO, size: int) -> None:
    """Let the system start to write the last `size` bytes to the disk, so that the final fsync has less to do."""
    if hasattr(os, "posix_fadvise"):
        # Linux drops only pages that are already on the disk, so these stay in its cache.
        with suppress(OSError):
            os.posix_fadvise(file.fileno(), file.tell() - size, size, os.POSIX_FADV_DONTNEED)


def _create(path: str, mode: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)


def _mode_of_new_file(path: str) -> int:
    """Return the mode that the system gives a new file: by the umask, or by the access list of its directory."""
    descriptor = _create(path, 0o666)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
        os.unlink(path)


def _resolved(path: Path) -> str:
    """Follow symbolic links, but none that another user made in a directory that everybody may write to."""
    target = os.path.join(os.getcwd(), os.fspath(path))
    for _ in range(MOST_LINKS):
        if not os.path.islink(target):
            return os.path.realpath(target)
        directory = os.path.dirname(target)
        shared, link = os.stat(directory), os.lstat(target)
        # As Linux itself does where fs.protected_symlinks is set.
        is_shared = shared.st_mode & stat.S_ISVTX and shared.st_mode & stat.S_IWOTH
        if is_shared and link.st_uid not in (os.geteuid(), shared.st_uid):
            problem = f"a symbolic link of another user (uid {link.st_uid}) in a directory that everybody may write to"
            raise PermissionError(errno.EACCES, f"{problem}; write to another path, or remove the link", target)
        target = os.path.join(directory, os.readlink(target))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _replaced_mode(target: str, path: Path) -> int | None:
    """Return the mode of the regular file at `target`, or None if there is no file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        # Replacing a disk or a socket by a file would be a mistake.
        raise OSError(errno.EINVAL, "Not a regular file; only regular files can be replaced", os.fspath(path))
    return stat.S_IMODE(mode)


def _sync_directory(directory: str) -> None:
    """Make the new name durable, on systems that can; without it, a power cut may undo the replacement."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock_file(file: BinaryIO, *, wait: bool = False) -> bool:
    """Lock an open file against other processes until it is closed; return whether that succeeded.

    The system releases the lock of a killed process. Without support for locks, every process succeeds.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        pass
    return True
