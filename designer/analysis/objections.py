"""What a rule says when it objects."""

from __future__ import annotations

from dataclasses import dataclass

from designer.model.design import Design


@dataclass(frozen=True, slots=True)
class Objection:
    """The elements it is about (the first is where to look), what is wrong, and what to do."""

    elements: tuple[str, ...]
    message: str
    remedy: str


def called(design: Design, key: str) -> str:
    """What people call a thing of the design; its id where it has no name."""
    for collection in (design.nodes, design.links, design.groups, design.services):
        item = collection.get(key)
        if item is not None:
            return item.name or key
    deployment = design.deployments.get(key)
    return (deployment.name or key) if deployment is not None else key
