"""The catalogue: facts with sources, by kind, and the defaults that rest on them.

It is a frozen value. Reading it from JSON, and laying a team's own folder over it, is
`designer.files.catalogue`'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from immutables import Map

from designer.model.base import Frozen, Provenance, Table
from designer.model.catalog_rows import (
    AccessMedium,
    Device,
    Entry,
    ErrorBand,
    FactRow,
    Fec,
    KindDefaults,
    Medium,
    Optic,
    OverheadRow,
    PriceRow,
    Range,
    ServiceTimeRow,
    Workload,
)
from designer.model.catalog_silicon import AcceleratorRow, AllReduceRow, ConstantsRow, ModelRow
from designer.model.things import ServiceTime

E = TypeVar("E", bound=Entry)

DEFAULT_CONSTANTS = "serving"
"""Id of the row of constants that the program computes with."""


class Unknown(LookupError):
    """An id that the catalogue does not hold; the sentence names those that look like it."""

    def __init__(self, what: str, row_id: str, known: Mapping[str, object]) -> None:
        self.what = what
        self.row_id = row_id
        longer = [each for each in sorted(known) if row_id and each.startswith(row_id)]
        alike = get_close_matches(row_id, sorted(known), n=3, cutoff=0.5)
        self.near = tuple(dict.fromkeys([*longer, *alike]))[:3]
        hint = f"did you mean {' or '.join(self.near)}?" if self.near else "see the catalogue"
        super().__init__(f'the catalogue has no {what} "{row_id}"; {hint}')


@dataclass(frozen=True, slots=True)
class DefaultRange:
    """A range that the program assumes, and what it rests on."""

    range: Range
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class DefaultServiceTime:
    """A service time that the program assumes, the row that it is from, and what it rests on."""

    service_time: ServiceTime
    row: ServiceTimeRow
    provenance: Provenance


class Catalogue(Frozen):
    """All rows by kind and id. Maps answer `get` with None; the methods raise Unknown."""

    devices: Table[str, Device] = Map()
    media: Table[str, Medium] = Map()
    optics: Table[str, Optic] = Map()
    fec: Table[str, Fec] = Map()
    access: Table[str, AccessMedium] = Map()
    accelerators: Table[str, AcceleratorRow] = Map()
    models: Table[str, ModelRow] = Map()
    service_times: Table[str, ServiceTimeRow] = Map()
    prices: Table[str, PriceRow] = Map()
    workloads: Table[str, Workload] = Map()
    facts: Table[str, FactRow] = Map()
    constants: Table[str, ConstantsRow] = Map()
    allreduce: Table[str, AllReduceRow] = Map()
    error_bands: Table[str, ErrorBand] = Map()
    overheads: Table[str, OverheadRow] = Map()
    defaults: Table[str, KindDefaults] = Map()

    def device(self, row_id: str) -> Device:
        """The device of that id. Raises Unknown."""
        return _found(self.devices, "device", row_id)

    def medium(self, row_id: str) -> Medium:
        """The medium of that id. Raises Unknown."""
        return _found(self.media, "medium", row_id)

    def optic(self, row_id: str) -> Optic:
        """The cable or transceiver of that id. Raises Unknown."""
        return _found(self.optics, "optic", row_id)

    def fec_of(self, row_id: str) -> Fec:
        """The error correction of that id. Raises Unknown."""
        return _found(self.fec, "FEC", row_id)

    def access_medium(self, row_id: str) -> AccessMedium:
        """The access medium of that id. Raises Unknown."""
        return _found(self.access, "access medium", row_id)

    def accelerator(self, row_id: str) -> AcceleratorRow:
        """The accelerator of that id. Raises Unknown."""
        return _found(self.accelerators, "accelerator", row_id)

    def model(self, row_id: str) -> ModelRow:
        """The language model of that id. Raises Unknown."""
        return _found(self.models, "language model", row_id)

    def service_time(self, row_id: str) -> ServiceTimeRow:
        """The service time of that id. Raises Unknown."""
        return _found(self.service_times, "service time", row_id)

    def price(self, row_id: str) -> PriceRow:
        """The price of that id. Raises Unknown."""
        return _found(self.prices, "price", row_id)

    def workload(self, row_id: str) -> Workload:
        """The workload of that id. Raises Unknown."""
        return _found(self.workloads, "workload", row_id)

    def fact(self, row_id: str) -> FactRow:
        """The fact of that id. Raises Unknown."""
        return _found(self.facts, "fact", row_id)

    def serving_constants(self) -> ConstantsRow:
        """The constants that the program computes the GPU tier with. Raises Unknown."""
        return _found(self.constants, "row of constants", DEFAULT_CONSTANTS)

    def error_band(self, engine: str) -> ErrorBand:
        """The error band of an engine ("any" where it is not said). Raises Unknown."""
        return _found(self.error_bands, "error band for the engine", engine)

    def devices_for(self, kind: str) -> tuple[Device, ...]:
        """Devices that a node of that kind may be, those meant for it first, then by id."""
        fit = (row for row in self.devices.values() if kind == row.kind or kind in row.also)
        return tuple(sorted(fit, key=lambda row: (row.kind != kind, row.id)))

    def access_to_draw(self) -> tuple[AccessMedium, ...]:
        """Access media whose round trip may stand before a drawn path, by id."""
        rows = (row for row in self.access.values() if row.may_be_added())
        return tuple(sorted(rows, key=lambda row: row.id))

    def service_times_for(self, kind: str) -> tuple[ServiceTimeRow, ...]:
        """Service times that fit a node of that kind, by id."""
        rows = (row for row in self.service_times.values() if kind in row.kinds)
        return tuple(sorted(rows, key=lambda row: row.id))

    def default_forwarding_us(self, kind: str) -> DefaultRange | None:
        """One-way forwarding delay of a node of that kind, port to port.

        None where such a node forwards nothing or nothing is known.
        """
        row = self.defaults.get(kind)
        if row is None or row.forwarding_us is None:
            return None
        return DefaultRange(row.forwarding_us, row.provenance())

    def default_service_time(self, kind: str) -> DefaultServiceTime | None:
        """Service time of a node of that kind; None where it serves no requests or none is known.

        Raises Unknown where the default names a row that is not there.
        """
        defaults = self.defaults.get(kind)
        if defaults is None or defaults.service_time is None:
            return None
        row = self.service_time(defaults.service_time)
        provenance = row.provenance()
        if row.shape_is_guessed():
            provenance = row.provenance(_GUESSED_SHAPE).replace(kind="guessed")
        return DefaultServiceTime(row.service_time(), row, provenance)


_GUESSED_SHAPE = "the source gives no distribution; the spread is a guess"


def _found(rows: Mapping[str, E], what: str, row_id: str) -> E:
    row = rows.get(row_id)
    if row is None:
        raise Unknown(what, row_id, rows)
    return row
