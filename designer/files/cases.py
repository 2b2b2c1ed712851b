"""Reading cases with right answers: strict, each refusal with file, place and remedy."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from designer.files.format import FileRefused, parse_json, read_bytes

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_CASES: Final = 100_000

COLUMNS: Final = ("case_id", "model", "gpu", "tp", "concurrency", "isl", "osl")
"""What every row of measured runs must have; all other columns may be missing."""

_MEASURED: Final = ("ttft_ms", "itl_ms")


class CasesRefused(ValueError):
    """Cases that cannot be used; `str()` is one sentence with file, place and remedy."""


def network_cases(path: Path) -> dict[str, dict[str, Any]]:
    """The cases of a JSON list by id, in the order of the file.

    Raises CasesRefused and FileRefused.
    """
    document = parse_json(_bytes(path), str(path))
    if not isinstance(document, list):
        raise CasesRefused(f"{path}: the file must hold a list of cases; put them into [ … ].")
    _check_count(path, len(document), "cases")
    cases: dict[str, dict[str, Any]] = {}
    for place, case in enumerate(document, start=1):
        if not isinstance(case, dict):
            raise CasesRefused(f"{path}, case {place} of the list: give an object here.")
        key = case.get("id")
        if not isinstance(key, str) or not key:
            raise CasesRefused(f'{path}, case {place} of the list: "id" is missing; name the case.')
        if key in cases:
            raise CasesRefused(f"{path}, case {key}: the id stands twice; make it unique.")
        _check_answer(path, key, case)
        cases[key] = case
    return cases


def _check_answer(path: Path, key: str, case: dict[str, Any]) -> None:
    expected, tolerance = case.get("expected"), case.get("rel_tol", 0)
    if expected is not None and not isinstance(expected, dict):
        raise CasesRefused(
            f"{path}, case {key}, expected: give an object here, or leave it out where there is "
            "no right answer."
        )
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= tolerance < math.inf:
        raise CasesRefused(f"{path}, case {key}, rel_tol: give a number from 0 up.")


def silicon_rows(path: Path) -> list[dict[str, str]]:
    """The rows of measured runs in a CSV file, every cell a text.

    Raises CasesRefused and FileRefused.
    """
    lines = io.StringIO(_text(path), newline="")
    reader = csv.DictReader(lines, strict=True)
    rows = []
    try:
        _check_columns(path, reader.fieldnames or ())
        for row in reader:
            _check_row(path, reader.line_num, row)
            rows.append(row)
    except csv.Error as error:
        raise CasesRefused(
            f"{path}, line {reader.line_num}: this is no CSV ({error}); mend the quotes there."
        ) from None
    _check_count(path, len(rows), "rows")
    if not rows:
        raise CasesRefused(f"{path}: there is no row below the header; add at least one.")
    return rows


def _check_columns(path: Path, names: Any) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise CasesRefused(
            f"{path}, line 1: the header lacks {', '.join(missing)}; give the columns of measured "
            "runs."
        )


def _check_row(path: Path, line: int, row: dict[Any, Any]) -> None:
    if None in row or None in row.values():
        raise CasesRefused(
            f"{path}, line {line}: the row has more or fewer cells than the header; give one for "
            "each column."
        )
    for name in _MEASURED:
        text = row.get(name)
        if text and not _is_positive(text):
            raise CasesRefused(
                f"{path}, line {line}, {name}: {text[:40]!r} is no time; give a number above 0, or "
                "leave the cell empty."
            )


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def trace_records(path: Path) -> list[dict[str, Any]]:
    """The requests of a JSONL trace, one a line. Raises CasesRefused and FileRefused."""
    records = [_record(path, number, line) for number, line in _lines(path)]
    _check_count(path, len(records), "requests")
    return records


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    text = _text(path).rstrip()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            raise CasesRefused(f"{path}, line {number}: the line is empty; take it out.")
        yield number, line


def _record(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        record = parse_json(text.encode(), str(path))
    except FileRefused as refusal:
        raise CasesRefused(f"{path}, line {line}: {refusal.problems[0].message}.") from None
    if not isinstance(record, dict):
        raise CasesRefused(f"{path}, line {line}: give an object, one request a line.")
    for name in ("input_toks", "output_toks"):
        count = record.get(name)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise CasesRefused(
                f"{path}, line {line}, {name}: {count!r} is no count of tokens; give a whole "
                "number from 1."
            )
    _check_times(path, line, record)
    return record


def _check_times(path: Path, line: int, record: dict[str, Any]) -> None:
    latest = -math.inf
    for name in ("queued_ts", "first_token_ts", "last_token_ts"):
        time_s = record.get(name)
        if time_s is None and name != "queued_ts":
            continue
        is_number = isinstance(time_s, int | float) and not isinstance(time_s, bool)
        if time_s is None or not is_number or not abs(time_s) < 1e15:
            raise CasesRefused(
                f"{path}, line {line}, {name}: {time_s!r} is no time; give seconds as a number."
            )
        if time_s < latest:
            raise CasesRefused(
                f"{path}, line {line}, {name}: the time lies before the one it must follow; "
                "correct the order of queued, first and last token."
            )
        latest = time_s


def _bytes(path: Path) -> bytes:
    """The file's bytes, of a size that cases may have."""
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise CasesRefused(f"{path}: the file is larger than {MOST_BYTES >> 20} MiB; split it.")
    return read_bytes(path)


def _text(path: Path) -> str:
    data = _bytes(path)
    if not data.strip():
        raise CasesRefused(f"{path}: the file is empty; restore it from a copy.")
    if b"\x00" in data[:4096]:
        raise CasesRefused(f"{path}: the file is UTF-16 or binary, not UTF-8; save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CasesRefused(
            f"{path}, byte {error.start}: this is not UTF-8 text; save it as UTF-8."
        ) from None


def _check_count(path: Path, count: int, what: str) -> None:
    if count > MOST_CASES:
        raise CasesRefused(f"{path}: more than {MOST_CASES:,} {what}; split the file.")
