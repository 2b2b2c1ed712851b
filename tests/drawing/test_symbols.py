"""Every kind has a symbol, and outlines are what SVG says."""

import math

import pytest

from designer.drawing.symbols import (
    SYMBOL_OF_GROUP,
    draw_symbol,
    node_symbol,
    parse_path,
    symbols,
)
from designer.model.kinds import GROUP_KINDS, NODE_KINDS


@pytest.mark.parametrize("kind", NODE_KINDS)
def test_every_kind_of_node_has_a_symbol_of_its_own_choice(kind):
    name = node_symbol(kind, None, None)
    assert name in symbols()
    assert name != "cloud"


def test_every_kind_of_group_has_a_symbol():
    assert {SYMBOL_OF_GROUP[kind] for kind in GROUP_KINDS} <= set(symbols())


def test_users_show_their_access_and_a_server_its_gpus():
    assert node_symbol("users", None, "5g_embb") == "phone"
    assert node_symbol("users", None, "leo") == "satellite"
    assert node_symbol("users", None, "xgs_pon") == "users"
    assert node_symbol("server", 0, None) == "server"
    assert node_symbol("server", None, None) == "gpu"


def test_a_half_circle_goes_through_its_top():
    outline = parse_path("M0 0A5 5 0 0 1 10 0")
    assert [name for name, _ in outline] == ["M", "C", "C"]
    x, y = outline[1][1][-2:]
    assert (x, y) == pytest.approx((5.0, -5.0))
    assert outline[-1][1][-2:] == (10.0, 0.0)


def test_relative_steps_and_smooth_curves_are_made_absolute():
    outline = parse_path("M1 1l2 0v3h-2zM5 5C6 6 7 6 8 5S10 4 11 5")
    assert outline[1:5] == (("L", (3.0, 1.0)), ("L", (3.0, 4.0)), ("L", (1.0, 4.0)), ("Z", ()))
    assert outline[-1] == ("C", (9.0, 4.0, 10.0, 4.0, 11.0, 5.0))


@pytest.mark.parametrize("name", sorted(symbols()))
def test_symbols_stay_on_their_grid(name):
    for shape in symbols()[name]:
        for _, numbers in shape.outline:
            assert all(math.isfinite(n) and -4.0 <= n <= 28.0 for n in numbers)


def test_a_symbols_line_grows_with_it():
    strokes = {
        path.stroke.width_px for path in draw_symbol("router", "a", "node", (0, 0), 16, "#000000")
    }
    assert strokes == {1.0}
