"""What a GPU-hour costs at a node: as its site offers it, else the catalogue's cheapest price."""

from __future__ import annotations

from designer.analysis.facts import Fact
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.references import groups_around
from designer.model.things import GpuOffer


def offer_at(design: Design, node_id: str) -> GpuOffer | None:
    """The innermost offer around a node for its kind of GPU; None where no site makes one."""
    accelerator = design.nodes[node_id].accelerator
    for group in groups_around(design, node_id):
        site = design.groups[group].site
        for offer in site.offers if site else ():
            if offer.accelerator == accelerator:
                return offer
    return None


def gpu_hour(design: Design, catalogue: Catalogue, node_id: str) -> Fact:
    """USD a GPU-hour at a node: the site's offer, else the cheapest typical price on demand."""
    offer = offer_at(design, node_id)
    if offer is not None and offer.usd_per_gpu_hour is not None:
        return Fact(offer.usd_per_gpu_hour, "given", "the site's offer")
    accelerator = design.nodes[node_id].accelerator
    if accelerator is None:
        return Fact(None, "unknown", "the node names no accelerator")
    family = f"gpu_{accelerator.split('_')[0]}_"
    rows = [
        row
        for key, row in catalogue.prices.items()
        if key.startswith(family) and key.endswith("on_demand") and row.typical is not None
    ]
    if not rows:
        return Fact(None, "unknown", f"no price of {accelerator} in the catalogue")
    cheapest = min(rows, key=lambda row: (row.typical or 0.0, row.id))
    return Fact(cheapest.typical, "catalogue", f"{cheapest.name}: {cheapest.source}")
