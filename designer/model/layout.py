"""Where things stand on the drawing. Nothing here changes a result."""

from typing import Annotated

from immutables import Map
from pydantic import Field

from designer.model.base import (
    Flag,
    Frozen,
    Id,
    Item,
    Number,
    OneOf,
    Positive,
    Table,
    Text,
)

Points = tuple[tuple[Number, Number], ...]


class Box(Item):
    """Position of a node or group, px at 100 %: top left corner, and a size where it was set."""

    x: Number
    y: Number
    width: Positive | None = None
    height: Positive | None = None
    pinned: Flag = False
    collapsed: Flag = False


class Bends(Item):
    """The bends that a person gave a link, px at 100 %."""

    points: Points = ()
    style: Annotated[str, OneOf(("orthogonal", "straight", "curved"))] = "orthogonal"


class Remark(Item):
    """A note on the canvas, with a leader to what it speaks of."""

    text: Text
    x: Number
    y: Number
    width: Positive = 104.0
    about: Id | None = None


class View(Item):
    """A saved view: what is shown, where, how large; with positions of its own where it has any."""

    kind: Annotated[str, OneOf(("schematic", "map"))] = "schematic"
    centre_x: Number = 0.0
    centre_y: Number = 0.0
    zoom: Annotated[float, Field(strict=True, gt=0, le=100)] = 1.0
    overlay: Annotated[str, Field(strict=True, max_length=64)] = ""
    boxes: tuple[Box, ...] = ()


class Layout(Frozen):
    """Positions, bends, views, remarks, and what is collapsed."""

    boxes: Table[Id, Box] = Map()
    bends: Table[Id, Bends] = Map()
    views: Table[Id, View] = Map()
    remarks: Table[Id, Remark] = Map()
