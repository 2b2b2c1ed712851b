"""Strict JSON: UTF-8, no NaN, no key twice, no endless nesting; every refusal has its place."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from designer.model.references import Problem

MOST_LEVELS: Final = 160
"""Lists and objects inside each other. A workflow of the most steps allowed needs 130."""
MOST_DIGITS: Final = 400
"""Of one whole number; the largest float has 309."""
_MOST_PLACE: Final = 120
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|-?Infinity|NaN|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?'
)


class FileRefused(ValueError):
    """A file that cannot be used. `problems` names every place; `str()` is one sentence."""

    def __init__(self, name: str, found: tuple[Problem, ...]) -> None:
        self.name = name
        self.problems = found
        first = found[0]
        more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
        place = f", {short_place(first.place)}" if first.place else ""
        super().__init__(f"{name}{place}: {first.message}{more}.")


def refused(name: str, place: str, message: str) -> FileRefused:
    """The refusal with one problem."""
    return FileRefused(name, (Problem(place, message),))


def short_place(place: str) -> str:
    """An address cut in its middle where it would fill the line."""
    half = _MOST_PLACE // 2
    return place if len(place) <= _MOST_PLACE else f"{place[:half]}…{place[-half:]}"


def parse_json(data: bytes, name: str) -> Any:
    """The value that strict JSON stands for. Raises FileRefused."""
    text = _text_of(data, name)
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_int=_whole, object_pairs_hook=_no_twins
        )
    except _Wrong as wrong:
        raise refused(name, _where(text, wrong.word), wrong.message) from None
    except RecursionError:
        raise _too_deep(name) from None
    except json.JSONDecodeError as error:
        raise refused(
            name,
            f"line {error.lineno}, column {error.colno}",
            f"this is not JSON ({error.msg}); mend it there or restore the file from a copy",
        ) from None
    if _levels_exceed(value):
        raise _too_deep(name)
    return value


def _text_of(data: bytes, name: str) -> str:
    if not data.strip():
        raise refused(name, "", "the file is empty; restore it from a copy or from git")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in data[:4]:
        raise refused(name, "", "the file is UTF-16 or binary, not UTF-8; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(
            name, f"byte {error.start}", "this is not UTF-8 text; save it as UTF-8"
        ) from None


def _too_deep(name: str) -> FileRefused:
    return refused(name, "", "the JSON is nested too deeply to be a design; restore it from a copy")


def _levels_exceed(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_LEVELS):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
    return bool(level)


class _Wrong(Exception):
    """Something that JSON readers let pass; `word` is the token, empty for a key that is twice."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word
        self.message = message


def _no_constant(word: str) -> Any:
    raise _Wrong(word, f"{word} is no number that a design may hold; correct it")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        message = f"a number of {len(digits):,} digits is none that a design may hold; correct it"
        raise _Wrong(digits, message)
    return int(digits)


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twin = next(key for key in keys if keys.count(key) > 1)
        shown = json.dumps(twin, ensure_ascii=False)[:60]
        raise _Wrong("", f"the key {shown} stands twice in one object; take one out")
    return made


def _where(text: str, word: str) -> str:
    """Line and column of the first such token outside of strings, or of the first second key."""
    position = next(
        (at for at, token in _tokens(text) if token == word) if word else _second_keys(text), None
    )
    if position is None:
        return ""
    before = text.rfind("\n", 0, position)
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - before}"


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    return ((found.start(), found.group()) for found in _TOKEN.finditer(text))


def _second_keys(text: str) -> Iterator[int]:
    """Where an object has a key that it has already."""
    open_keys: list[set[str]] = []
    last = (0, "")
    for position, token in _tokens(text):
        if token in "{[":
            open_keys.append(set())
        elif token in "}]" and open_keys:
            open_keys.pop()
        elif token == ":" and open_keys:
            key = str(json.loads(last[1]))
            if key in open_keys[-1]:
                yield last[0]
            open_keys[-1].add(key)
        last = (position, token)
