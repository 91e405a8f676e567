"""What a model file notes of the command that made it."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from typing import Any


def made_now() -> dict[str, Any]:
    """The command as it was typed, and the time."""
    return {
        "command": shlex.join(["scwlearn", *sys.argv[1:]]),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
