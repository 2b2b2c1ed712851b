"""The title of a design where it is shown."""

import pytest

from designer.model.design import TitleBlock


@pytest.mark.parametrize("blank", ["", "   ", "\u200b\u200b", "\u00a0", "\n\t"])
def test_a_title_that_nobody_can_see_is_replaced(blank: str) -> None:
    assert TitleBlock(title=blank).title_or("Untitled design") == "Untitled design"


def test_a_title_stays_as_it_is() -> None:
    assert TitleBlock(title=" Metro ").title_or("x") == " Metro "
