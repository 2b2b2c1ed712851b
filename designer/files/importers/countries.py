"""Names of countries as maps write them, to ISO 3166-1 codes: exact names only, never a guess."""

from types import MappingProxyType
from typing import Final

import pycountry

_ALSO: Final = MappingProxyType(
    {
        "russia": "RU", "macedonia": "MK", "turkey": "TR", "brunei": "BN", "macau": "MO",
        "u.s. virgin islands": "VI", "british virgin islands": "VG", "swaziland": "SZ",
        "cape verde": "CV", "ivory coast": "CI", "burma": "MM", "myanmar [burma]": "MM",
        "curacao": "CW", "palestine": "PS", "uk": "GB", "great britain": "GB", "england": "GB",
        "scotland": "GB", "wales": "GB", "holland": "NL", "the netherlands": "NL",
        "saint martin": "MF", "bonaire, saint eustatius and saba": "BQ", "reunion": "RE",
        "east timor": "TL", "vatican": "VA",
    }
)  # fmt: skip
"""Common or former names that the standard does not list."""


def country_code(name: str) -> str | None:
    """The alpha-2 code of a country by its exact name or code; None where it is not certain."""
    word = name.strip().lower()
    if word in _ALSO:
        return _ALSO[word]
    try:
        return str(pycountry.countries.lookup(word).alpha_2)
    except LookupError:
        return None
