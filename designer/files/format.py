"""The .promptpath file: strict reading with every problem named, canonical bytes, atomic saving."""

import difflib
import errno
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from designer.files.migrations import upgraded
from designer.files.strict_json import FileRefused, parse_json, refused
from designer.model.base import NEWER_MINOR
from designer.model.design import Design
from designer.model.references import Problem, problems
from designer.model.topology import FORMAT, MINOR, VERSION, Topology

__all__ = [
    "EXTENSION", "FileRefused", "Opened", "check_writable", "content_hash", "dumps",
    "layout_hash", "load", "loads", "parse_json", "place_of", "read_bytes", "save",
    "write_atomically",
]  # fmt: skip

EXTENSION: Final = ".promptpath"
MOST_BYTES: Final = 512 * 1024 * 1024
_MOST_VERSION: Final = 1_000_000
_MOST_WORDS: Final = 8


@dataclass(frozen=True, slots=True)
class Opened:
    """A file's content: the topology, and the version it was written in."""

    topology: Topology
    version: int


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises FileRefused for what is no readable file of sensible size."""
    name = str(path)
    try:
        if path.is_dir():
            raise refused(name, "", "this is a folder; name the file in it")
        if path.exists() and not path.is_file():
            raise refused(name, "", "this is not a regular file; name a file on disk")
        if path.stat().st_size > MOST_BYTES:
            raise refused(name, "", f"the file is larger than {MOST_BYTES >> 20} MiB; split it")
        return path.read_bytes()
    except FileNotFoundError:
        raise refused(name, "", "there is no such file; check the name and the folder") from None
    except PermissionError:
        raise refused(name, "", "you may not read this file; change its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the name cannot be a file's"
        raise (
            error
            if isinstance(error, FileRefused)
            else refused(name, "", f"{reason}; try another file")
        ) from None


def load(path: Path) -> Opened:
    """Reads a .promptpath file. Raises FileRefused with every problem and its place."""
    return loads(read_bytes(path), str(path))


def loads(data: bytes, name: str) -> Opened:
    """Reads the bytes of a .promptpath file called `name`.

    Raises FileRefused with every problem and its place.
    """
    document = parse_json(data, name)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise refused(
            name,
            "format",
            f'this is no Promptpath design: "format" must be "{FORMAT}"; choose another file',
        )
    version = _whole(document, "version", name, least=1, missing=None)
    minor = _whole(document, "minor", name, least=0, missing=0)
    if version > VERSION:
        raise refused(
            name,
            "version",
            f"the file is of format version {version}, this program reads up to {VERSION}; "
            "use a newer Promptpath",
        )
    document = upgraded(document, version, VERSION)
    body = {key: value for key, value in document.items() if key not in ("format", "version")}
    newer = version == VERSION and minor > MINOR
    body["minor"] = minor if newer else MINOR
    try:
        topology = Topology.model_validate(body, context=NEWER_MINOR if newer else None)
    except ValidationError as error:
        raise FileRefused(name, _problems_of(error, document)) from None
    if newer:
        _check_kept(document, name)
    misfits = problems(topology)
    if misfits:
        raise FileRefused(name, misfits)
    return Opened(topology, version)


def _check_kept(document: dict[str, Any], name: str) -> None:
    """What no field has checked must be such that it can be written back. Raises FileRefused."""
    try:
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        broken = f"\\u{ord(error.object[error.start]):04x}"
        raise refused(
            name, "", f"a field holds the broken character {broken}; take it out"
        ) from None
    except ValueError:
        raise refused(
            name, "", "a field holds a number above 1.8e308, which none can be; correct it"
        ) from None


def _whole(
    document: dict[str, Any], key: str, name: str, *, least: int, missing: int | None
) -> int:
    value = document.get(key, missing)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST_VERSION:
        raise refused(
            name,
            key,
            f"must be a whole number from {least}, not {_shown(value)}; correct it",
        )
    return value


def _problems_of(error: ValidationError, document: Any) -> tuple[Problem, ...]:
    seen: dict[tuple[str, str], None] = {}
    for detail in error.errors(include_url=False):
        seen[(place_of(detail["loc"], document), _message(detail))] = None
    return tuple(Problem(place, message) for place, message in seen)


def place_of(loc: tuple[int | str, ...], document: Any) -> str:
    """A readable address of a validation error: list entries by id where they have one."""
    parts: list[str] = []
    value = document
    for part in loc:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
            label = value.get("id") if isinstance(value, dict) else None
            parts.append(f"[{label if isinstance(label, str) else part}]")
        elif isinstance(value, dict) and part in value:
            value = value[part]
            parts.append(f".{part}")
        elif (
            isinstance(value, dict)
            and isinstance(part, str)
            and not part.startswith(("function", "chain"))
            and part not in _STEPS
        ):
            parts.append(f".{part}")
            value = None
    return "".join(parts).lstrip(".")


_STEPS: Final = ("series", "parallel", "repeat", "branch", "retry", "hedge", "call", "model")
"""Which kind of step was tried; no part of an address in the file."""


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _message(detail: ErrorDetails) -> str:
    shown = _shown(detail["input"])
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            return "this field is not known; correct its name or take it out"
        case "missing":
            return "this field is missing; give it a value"
        case "unknown_word":
            return _unknown_word(shown, str(context["words"]).split(", "))
        case "union_tag_invalid":
            words = str(context["expected_tags"]).replace("'", "").split(", ")
            return _unknown_word(f'"{context["tag"]}"', words)
        case "union_tag_not_found":
            return f"this step says no `do`; use one of {', '.join(_STEPS)}"
        case "model_type" | "dict_type" | "model_attributes_type" | "dataclass_type":
            return f"give an object in braces here, not {shown}"
        case "string_unicode":
            return "remove the broken characters"
        case "recursion_loop":
            return "it is nested too deeply; take levels out"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal" as kind:
            return f"must be {_BOUNDS[kind]} {_bound(context)}, not {shown}; correct it"
        case "string_pattern_mismatch":
            wish = _PATTERNS.get(str(context["pattern"]), "is not written as it must be")
            return f"{wish}, not {shown}; correct it"
        case kind if kind in _WANTED:
            return f"give {_WANTED[kind]} here, not {shown}"
        case "string_too_long":
            return f"use at most {context['max_length']:,} characters, not {shown}; shorten it"
        case "speck":
            return f"{detail['msg']}, not {shown}; correct it"
        case "duplicate_id" | "falling_percentiles" | "control_character" | "lone_surrogate":
            return detail["msg"]
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case _:
            wish = detail["msg"][:1].lower() + detail["msg"][1:]
            return f"{wish}, not {shown}; correct it"


_BOUNDS: Final = MappingProxyType(
    {
        "greater_than": "more than",
        "greater_than_equal": "at least",
        "less_than": "less than",
        "less_than_equal": "at most",
    }
)
_WANTED: Final = MappingProxyType(
    {
        "float_type": "a number",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "string_type": "text in quotes",
        "bool_type": "true or false",
        "list_type": "a list in brackets",
        "tuple_type": "a list in brackets",
    }
)
_PATTERNS: Final = MappingProxyType(
    {
        r"^[A-Za-z0-9_.-]{1,64}$": "an id is 1 to 64 letters, digits, dots, dashes or underscores",
        r"^\d{4}-\d{2}-\d{2}$": "a date is year-month-day as 2026-01-31",
        r"^[A-Z]{3}$": "a currency is three capital letters as USD",
        r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$": "a jurisdiction is a code as DE or US-CA",
        r"^[0-9a-f]{64}$": "a fingerprint is 64 digits and letters from 0 to f",
    }
)


def _bound(context: dict[str, Any]) -> str:
    """The limit in the shortest writing: 10000, 0.5, 1e15."""
    limit = next(context[key] for key in ("gt", "ge", "lt", "le") if key in context)
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:.15g}".replace("e+", "e")


def _unknown_word(shown: str, words: list[str]) -> str:
    """The words that are most like it, or the first ones."""
    near = difflib.get_close_matches(shown.strip('"'), words, n=_MOST_WORDS) or words
    more = f" or {len(words) - _MOST_WORDS} others" if len(near) > _MOST_WORDS else ""
    return f"{shown} is not known here; use one of {', '.join(near[:_MOST_WORDS])}{more}"


def dumps(topology: Topology) -> bytes:
    """The canonical bytes: sorted ids, fixed key order, defaults left out, one field a line.

    They depend on the values only; reading and writing them again gives the same bytes.
    """
    body = topology.model_dump(mode="json", exclude_defaults=True)
    body.pop("minor", None)
    document = {"format": FORMAT, "version": VERSION, "minor": topology.minor}
    document |= {key: body[key] for key in ("design", "layout") if key in body}
    document |= {key: body[key] for key in sorted(body) if key not in document}
    return _text(document)


def _text(document: Any) -> bytes:
    text = json.dumps(_canonical(document), indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _canonical(value: Any) -> Any:
    """Whole floats as integers, and provenance last, so that a diff shows the value first."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if isinstance(value, dict):
        last = ("provenance",) if "provenance" in value and "id" in value else ()
        keys = [key for key in value if key not in last]
        return {key: _canonical(value[key]) for key in (*keys, *last)}
    return value


def content_hash(design: Design) -> str:
    """SHA-256 of the canonical design without layout: what results and reports are about."""
    body = design.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(_text(body)).hexdigest()


def layout_hash(topology: Topology) -> str:
    """SHA-256 of the canonical layout."""
    body = topology.layout.model_dump(mode="json", exclude_defaults=True)
    return hashlib.sha256(_text(body)).hexdigest()


def save(topology: Topology, path: Path) -> None:
    """Writes the canonical bytes so that the old file stays whole until the new one is proven.

    Raises FileRefused, with nothing written, where the folder is missing or may not be written.
    """
    write_atomically(path, dumps(topology))


def check_writable(path: Path) -> None:
    """Whether `write_atomically` could begin; nothing is left behind. Raises FileRefused."""
    _scratch_beside(path).unlink(missing_ok=True)


def _scratch_beside(path: Path) -> Path:
    """A new empty file in the folder of `path`. Raises FileRefused where there can be none."""
    folder = path.parent
    try:
        if not folder.is_dir():
            raise refused(str(path), "", f"there is no folder {folder}; make it or choose another")
        if path.is_dir():
            raise refused(str(path), "", "this is a folder; name a file in it")
        if path.exists() and not path.is_file():
            raise refused(str(path), "", "this is not a regular file; choose another name")
        handle, temporary = tempfile.mkstemp(
            dir=folder, prefix=f".{path.name[:40]}.", suffix=".tmp"
        )
    except (OSError, ValueError) as error:
        if isinstance(error, FileRefused):
            raise
        reason = getattr(error, "strerror", None) or "no file can have this name"
        if getattr(error, "errno", None) in (None, errno.ENAMETOOLONG):
            raise refused(str(path), "", f"{reason}; choose another name") from None
        raise refused(
            str(path), "", f"cannot write in {folder} ({reason}); choose another folder"
        ) from None
    os.close(handle)
    return Path(temporary)


def write_atomically(path: Path, data: bytes) -> None:
    """Temporary file beside it, flush, fsync, read back, replace, fsync the folder.

    Raises FileRefused, with nothing written, where that is not possible.
    """
    scratch = _scratch_beside(path)
    try:
        with scratch.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if scratch.read_bytes() != data:
            raise refused(
                str(path), "", "the disk gave back other bytes than were written; try another disk"
            )
        _keep_mode(path, scratch)
        scratch.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise refused(
            str(path), "", f"cannot be written ({error.strerror}); choose another place"
        ) from None
    finally:
        scratch.unlink(missing_ok=True)


def _keep_mode(path: Path, scratch: Path) -> None:
    """The permissions of the old file, or those that a new file would get."""
    if path.exists():
        scratch.chmod(path.stat().st_mode & 0o7777)
    elif os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o666 & ~mask)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
