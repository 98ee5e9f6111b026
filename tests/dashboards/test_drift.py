"""The committed dashboards are those that the code builds."""

from __future__ import annotations

import pytest

from dashboards.catalogue import DASHBOARDS, FOLDER, built


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_as_it_is_built(name: str) -> None:
    """A dashboard's file is byte for byte what the code makes, so that nobody edits it by hand."""
    file = FOLDER / f"{name}.json"
    assert file.read_text(encoding="utf-8") == built()[file], "run `make dashboards`"


def test_no_file_is_left_over() -> None:
    """The folder holds the dashboards that there are, and no others."""
    assert set(FOLDER.iterdir()) == set(built())
