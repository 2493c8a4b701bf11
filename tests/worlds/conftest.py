"""What tests of scenario files share: the file of a meeting, with changes that a test makes."""

from pathlib import Path

import pytest
from support.meeting_files import SCENARIO, ScenarioFile, file_of


@pytest.fixture
def meeting_file(tmp_path: Path) -> ScenarioFile:
    return file_of(SCENARIO, tmp_path / "boiler.yaml")
