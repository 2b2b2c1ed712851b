"""Where the files lie that the program brings along: one locator for every way of installing."""

from importlib.resources import files
from pathlib import Path


def assets() -> Path:
    """The folder of icons, fonts, catalogues, outlines and help pages.

    Raises FileNotFoundError where the installation lacks it.
    """
    return _folder("_assets", "assets")


def samples() -> Path:
    """The folder of designs that a newcomer opens first.

    Raises FileNotFoundError where the installation lacks it.
    """
    return _folder("_samples", "sample_topologies")


def _folder(installed: str, checked_out: str) -> Path:
    """The folder inside the installed package or, in a checkout, the one beside the package."""
    package = Path(str(files("designer")))
    for folder in (package / installed, package.parent / checked_out):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"{package}: the folder {checked_out} of the installation is missing; install again"
    )
