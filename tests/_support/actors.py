"""Values that do something when they are read."""


class Number:
    """A number that does something when it is asked for its value."""

    def __init__(self, action):
        self.action = action

    def __float__(self):
        self.action()
        return 2.0
