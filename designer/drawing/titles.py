"""How much of an open group's upper edge its name and its totals take."""

from collections.abc import Mapping

from designer.drawing.captions import VALUE_PX, group_totals_words, totals_by_group
from designer.drawing.layout import title_width_px
from designer.drawing.text import width_px
from designer.drawing.tree import Tree
from designer.model.design import Design


def title_widths(design: Design, tree: Tree) -> Mapping[str, tuple[float, float]]:
    """Widths of each open group's name, on the left, and of its totals, on the right."""
    found = totals_by_group(design)
    open_groups = [key for key in tree.children if key in design.groups]
    words = {key: group_totals_words(design.groups[key], found[key]) for key in open_groups}
    return {
        key: (
            title_width_px(design, key, ""),
            width_px(words[key], VALUE_PX, 400, "tabular") + 12 if words[key] else 0.0,
        )
        for key in open_groups
    }
