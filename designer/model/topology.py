"""The topology: one frozen value that holds a whole design and its layout."""

from typing import Final

from designer.model.base import Frozen
from designer.model.design import Design
from designer.model.layout import Layout

FORMAT: Final = "promptpath"
VERSION: Final = 1
MINOR: Final = 0


class Topology(Frozen):
    """A design (meaning) and its layout (drawing), of one version of the file format."""

    minor: int = MINOR
    """Minor version of the file that this was read from: a newer one is written back as such."""
    design: Design = Design()
    layout: Layout = Layout()
