"""Numbered upgrades of the file format: each takes the plain dict of one version to the next.

An upgrade never reads types of the program, which change; it works on the JSON values alone.
`tests/old_files/` keeps one real file of every released version for ever.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Final[Mapping[int, Upgrade]] = MappingProxyType({})
"""From version n to n + 1, by n. Version 1 is the first, so there is none yet."""


def upgraded(
    document: dict[str, Any], version: int, to: int, upgrades: Mapping[int, Upgrade] = UPGRADES
) -> dict[str, Any]:
    """The document as version `to`, by the chain of upgrades. Raises KeyError for a gap."""
    for step in range(version, to):
        document = {**upgrades[step](document), "version": step + 1}
    return document
