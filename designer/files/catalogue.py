"""Reading the catalogue: the rows that the program brings, and a team's own folder laid over them.

A folder holds one file a table (`devices.json`, `access.json`, …), each an object with a list
`rows` and, if wanted, a sentence `about`. A row of the team's folder takes the place of the row
with the same id, or stands beside the others. Nothing outside the two folders is read.
"""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from immutables import Map
from pydantic import ValidationError

from designer.files.format import FileRefused, parse_json, place_of
from designer.model.catalog import Catalogue
from designer.model.catalog_rows import Entry
from designer.model.kinds import NODE_KINDS
from designer.model.resources import assets

MOST_BYTES: Final = 4 * 1024 * 1024
MOST_ROWS: Final = 20_000
TABLES: Final = tuple(Catalogue.model_fields)

Rows = Map[str, Entry]


class CatalogueRefused(ValueError):
    """A catalogue that cannot be used; `str()` is one sentence with file, row and remedy."""


def load(extra_folder: Path | None = None) -> Catalogue:
    """The catalogue that the program brings, with a team's own folder laid over it by id.

    Raises CatalogueRefused where a file or a row cannot be used.
    """
    try:
        own = assets() / "catalogue"
    except FileNotFoundError as error:
        raise CatalogueRefused(f"{error}.") from None
    tables = dict(_tables(own))
    if extra_folder is not None:
        for name, rows in _tables(extra_folder):
            tables[name] = tables.get(name, Map()).update(rows)
    catalogue = Catalogue.model_validate(tables)
    _check_references(catalogue)
    return catalogue


def _tables(folder: Path) -> Iterator[tuple[str, Rows]]:
    """Every table of a folder. Raises CatalogueRefused."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise CatalogueRefused(
            f"{folder}: the catalogue folder cannot be read ({error.strerror}); "
            "name a folder that you may read."
        ) from None
    for path in paths:
        if path.suffix == ".json":
            yield path.stem, _rows(path, folder)


def _rows(path: Path, folder: Path) -> Rows:
    if path.stem not in TABLES:
        near = get_close_matches(path.stem, TABLES, n=1)
        raise CatalogueRefused(
            f"{path}: no table of the catalogue has this name; "
            f"call it {near[0]}.json or take it out."
            if near
            else f"{path}: no table of the catalogue has this name; take it out of the folder."
        )
    document = _document(path, folder)
    raw = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(raw, list) or not set(document) <= {"about", "rows"}:
        raise CatalogueRefused(
            f'{path}: the file must be an object with a list "rows" and nothing else than "about" '
            "beside it; put the rows into such a list."
        )
    if len(raw) > MOST_ROWS:
        raise CatalogueRefused(f"{path}: more than {MOST_ROWS} rows; leave out what is not used.")
    try:
        rows: Rows = getattr(Catalogue.model_validate({path.stem: raw}), path.stem)
    except ValidationError as error:
        raise CatalogueRefused(_sentence(path, error, raw)) from None
    return rows


def _document(path: Path, folder: Path) -> Any:
    """The JSON of a file in the folder. Raises CatalogueRefused."""
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise CatalogueRefused(
            f"{path}: this is no file in the catalogue folder itself; put a copy there."
        )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CatalogueRefused(
                f"{path}: the file is larger than {MOST_BYTES >> 20} MiB; "
                "leave out what is not used."
            )
        return parse_json(path.read_bytes(), str(path))
    except OSError as error:
        raise CatalogueRefused(
            f"{path}: the file cannot be read ({error.strerror}); change its permissions."
        ) from None
    except FileRefused as error:
        raise CatalogueRefused(str(error)) from None


def _sentence(path: Path, error: ValidationError, raw: list[Any]) -> str:
    details = error.errors(include_url=False)
    first = details[0]
    place = place_of(first["loc"][1:], raw)
    more = f" ({len(details) - 1} more like it)" if len(details) > 1 else ""
    at = f", row {place}" if place else ""
    match first["type"]:
        case "extra_forbidden":
            wrong = "this column is not known; correct its name or take it out"
        case "missing":
            wrong = "this column is missing; give it a value"
        case "unknown_word" | "duplicate_id":
            wrong = first["msg"]
        case _:
            shown = json.dumps(first["input"], default=str)
            shown = shown if len(shown) <= 40 else f"{shown[:37]}…"
            wrong = f"{first['msg'][:1].lower()}{first['msg'][1:]}, not {shown}; correct it"
    return f"{path}{at}: {wrong}{more}."


def _check_references(catalogue: Catalogue) -> None:
    """Raises CatalogueRefused where a row names a row that is not there."""
    wanted = (
        ("devices", "accelerator", catalogue.accelerators),
        ("devices", "price", catalogue.prices),
        ("optics", "fec", catalogue.fec),
        ("optics", "price", catalogue.prices),
        ("defaults", "service_time", catalogue.service_times),
    )
    for table, column, known in wanted:
        rows: Mapping[str, Entry] = getattr(catalogue, table)
        for row in rows.values():
            named = getattr(row, column)
            if named is not None and named not in known:
                raise CatalogueRefused(
                    f'{table}.json, row [{row.id}].{column}: there is no row "{named}"; '
                    "add that row or correct the name."
                )
    for kind in catalogue.defaults:
        if kind not in NODE_KINDS:
            raise CatalogueRefused(
                f"defaults.json, row [{kind}]: there is no such kind of node; correct the id."
            )
