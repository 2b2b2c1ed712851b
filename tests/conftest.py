"""What every test may ask for."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def reference_dir() -> Path:
    """The folder of published facts and of cases with right answers, beside the checkout."""
    folder = CHECKOUT.parent / "shared" / "reference"
    if not folder.is_dir():
        pytest.skip(f"the reference data is not beside the checkout ({folder.name}/ is missing)")
    return folder
