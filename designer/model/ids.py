"""Identifiers: a letter for the kind and ten base-32 characters.

Random for what a person draws, derived from the source's own key for what an importer reads,
so that a second import of the same file gives the same ids.
"""

import base64
import hashlib
import secrets
from typing import Literal

IdKind = Literal["g", "n", "l", "o", "c", "t", "d", "s", "x", "f", "e", "v", "m"]
"""g group, n node, l link, o optical span, c class, t tenant, d deployment, s service,
x scenario, f failure set, e exclusion, v view, m remark."""

_LENGTH = 10


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode("ascii").lower()[:_LENGTH]


def new_id(kind: IdKind) -> str:
    """A fresh random id of that kind (50 random bits)."""
    return kind + _base32(secrets.token_bytes(7))


def derived_id(kind: IdKind, source_key: str) -> str:
    """The id that belongs to `source_key`: the same key always gives the same id."""
    return kind + _base32(hashlib.sha256(source_key.encode("utf-8")).digest())
