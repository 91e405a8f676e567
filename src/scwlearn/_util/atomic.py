"""Atomic file replacement: the file at a path is complete at any moment, even after a crash."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO
from zlib import crc32

from scwlearn._util.special import MOST_LINKS, is_special, names_directory, whole_special
from scwlearn._util.temporary import HAS_LOCKS, create_file, open_locked, remove_leftovers, temporary_path

Path = str | os.PathLike[str]
Bytes = bytes | bytearray | memoryview

# The attribute in which Linux keeps who else may use a file.
_ACCESS_LIST = "system.posix_acl_access"


def check_path(value: Any) -> str:
    """Return the path of a file as a string."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"a path must be a string or a Path, got {value!r}")
    return path


def write_atomically(path: Path, content: Bytes | Iterable[Bytes]) -> None:
    """Write a file so that `path` holds either the old content or all of the new, even after a crash.

    Parameters
    ----------
    path : str or path
        The file to create or replace. A symbolic link is followed. An existing file keeps its mode and its access list
        (ACL), and its owner and group where this process may give files to them.
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
def atomic_file(path: Path, *, before_replacing: Callable[[], object] = lambda: None) -> Iterator[BinaryIO]:
    """Open a seekable temporary file that replaces `path` when the block ends without an error.

    After an error the temporary file is removed and `path` is unchanged. Only a killed process leaves the temporary
    file behind, which other users cannot read; the next one that replaces `path` removes it. A device or a pipe is not
    replaced: the content is written to it when it is complete.

    `before_replacing` is called once all is on the disk; if it raises an error, `path` stays unchanged.
    """
    target = _resolved(path)
    if is_special(path):
        with whole_special(path) as file:
            yield file
        before_replacing()
        return
    replaced = _replaced_file(target, path)
    beside = os.path.dirname(target), _mark_of(target)
    temporary, lock = temporary_path(*beside), None
    try:
        try:
            mode = _mode_of_new_file(temporary) if replaced is None else stat.S_IMODE(replaced.st_mode)
            while (opened := open_locked(temporary)) is None:
                temporary = temporary_path(*beside)
            with opened as file:
                # The lock lasts until the file has its name.
                lock = os.dup(file.fileno()) if HAS_LOCKS else None
                yield file
                file.flush()
                os.fsync(file.fileno())
                if replaced is not None:
                    mode = _give_to_owner(file, replaced, mode)
                    mode = _give_access_list(file, target, replaced, mode)
                os.chmod(temporary, mode)
            before_replacing()
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            if lock is not None:
                os.close(lock)
    except OSError as error:
        if error.filename in (None, temporary):
            # Name the file that the caller asked for.
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync_directory(beside[0])
    remove_leftovers(*beside)


def start_writeback(file: BinaryIO, size: int) -> None:
    """Let the system start to write the last `size` bytes to the disk, so that the final fsync has less to do."""
    if hasattr(os, "posix_fadvise"):
        # Linux drops only pages that are already on the disk, so these stay in its cache.
        with suppress(OSError):
            os.posix_fadvise(file.fileno(), file.tell() - size, size, os.POSIX_FADV_DONTNEED)


def _mode_of_new_file(path: str) -> int:
    """Return the mode that the system gives a new file: by the umask, or by the access list of its directory."""
    descriptor = create_file(path, 0o666)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(path)


def _mark_of(target: str) -> str:
    # Its length is fixed: the target's name with a suffix could exceed the limit for file names.
    return f".{crc32(os.fsencode(os.path.basename(target))):08x}."


def _resolved(path: Path) -> str:
    """Follow symbolic links, but none that another user made in a directory that everybody may write to."""
    target = check_path(path)
    if not os.path.isabs(target):
        target = os.path.join(os.getcwd(), target)
    for _ in range(MOST_LINKS):
        if names_directory(target):
            # As open() does, even where there is a file.
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not os.path.islink(target):
            return os.path.realpath(target)
        _check_owner(target, os.lstat(target), "symbolic link")
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _check_owner(target: str, found: os.stat_result, what: str) -> None:
    """Raise an error for what another user made in a directory that everybody may write to."""
    # As Linux itself does where fs.protected_symlinks and fs.protected_regular are set.
    shared = os.stat(os.path.dirname(target))
    is_shared = shared.st_mode & stat.S_ISVTX and shared.st_mode & stat.S_IWOTH
    if is_shared and found.st_uid not in (os.geteuid(), shared.st_uid):
        problem = f"a {what} of another user (uid {found.st_uid}) in a directory that everybody may write to"
        raise PermissionError(errno.EACCES, f"{problem}; write to another path, or remove the {what}", target)


def _replaced_file(target: str, path: Path) -> os.stat_result | None:
    """Return what is known of the regular file at `target`, or None if there is no file."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        # Replacing a disk or a socket by a file would be a mistake.
        raise OSError(errno.EINVAL, "Not a regular file; only regular files can be replaced", os.fspath(path))
    _check_owner(target, found, "file")
    return found


def _give_to_owner(file: BinaryIO, replaced: os.stat_result, mode: int) -> int:
    """Give a file the owner and group of the one that it replaces, where possible; return the mode that it may have."""
    if not hasattr(os, "fchown"):
        return mode
    for owner, group in ((replaced.st_uid, -1), (-1, replaced.st_gid)):
        # Only root may give files away; others may give them to their own groups.
        with suppress(OSError):
            os.fchown(file.fileno(), owner, group)
    found = os.fstat(file.fileno())
    if found.st_uid != replaced.st_uid:
        # They would give the rights of this process's user.
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    if found.st_gid != replaced.st_gid:
        # Another group may do only what everybody may.
        mode = mode & ~(stat.S_IRWXG | stat.S_ISGID) | (mode & stat.S_IRWXO) << 3
    return mode


def _give_access_list(file: BinaryIO, target: str, replaced: os.stat_result, mode: int) -> int:
    """Give a file the access list of the one that it replaces; return the mode that it may have."""
    if not hasattr(os, "setxattr"):
        return mode
    try:
        entries = os.getxattr(target, _ACCESS_LIST)
    except OSError:
        # There is none, but the new file may have one from its directory.
        with suppress(OSError):
            os.removexattr(file.fileno(), _ACCESS_LIST)
        return mode
    if os.fstat(file.fileno()).st_gid == replaced.st_gid:
        with suppress(OSError):
            os.setxattr(file.fileno(), _ACCESS_LIST, entries)
            return mode
    # Without the list, the mode would mean something else: its group bits are the most that anybody in the list may do.
    return mode & ~(stat.S_IRWXG | stat.S_IRWXO)


def _sync_directory(directory: str) -> None:
    """Make the new name durable, on systems that can; without it, a power cut may undo the replacement."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
