"""A progress reporter for tests."""


class RecordingReporter:
    """Adds up the reported progress; raises KeyboardInterrupt after `stop_after` reports."""

    def __init__(self, stop_after=None):
        self.now = self.before = 0.0
        self.runs = 0
        self.notes = []
        self.stop_after = stop_after

    def advance(self, amount, note=""):
        assert amount > 0
        self.now += amount
        self.runs += 1
        if self.runs == self.stop_after:
            raise KeyboardInterrupt

    def done_before(self, amount):
        self.before += amount

    def note(self, text):
        self.notes.append(text)
