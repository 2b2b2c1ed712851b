"""What an import had to decide: every value guessed, unknown, merged or left out, in one list."""

from dataclasses import dataclass
from typing import Literal

from designer.model.topology import Topology

Decision = Literal["guessed", "unknown", "merged", "dropped"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision: about which element (an id, or "" for the file), which field, and why."""

    element: str
    field: str
    kind: Decision
    message: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A topology read from a foreign format, and what that took."""

    topology: Topology
    reconciliation: tuple[Entry, ...]
