"""Files that a stream is opened on, and what it reads from them."""

import io

from scwlearn.data.io.streams import open_source

TEXT = b"+1 1:0.5 3:2\n-1 2:1 # more\n" * 5000


class Trickle(io.RawIOBase):
    """A file that gives a few bytes at a time, and cannot seek."""

    def __init__(self, text, step):
        self.text, self.step = io.BytesIO(text), step

    def readable(self):
        return True

    def readinto(self, memory):
        return self.text.readinto(memoryview(memory)[: self.step])


class OnlyRead:
    """A file that has nothing but read."""

    def __init__(self, text):
        self.read = io.BytesIO(text).read


def content(source):
    with open_source(source) as stream:
        return stream.readall()
