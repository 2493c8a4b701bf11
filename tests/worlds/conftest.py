"""What tests of scenario files share: the file of a meeting, with changes that a test makes."""

from pathlib import Path

import pytest
from support.meeting_files import SCENARIO, MeetingFile


@pytest.fixture
def meeting_file(tmp_path: Path) -> MeetingFile:
    def write(*changes: tuple[str, str]) -> Path:
        text = SCENARIO
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        at = tmp_path / "boiler.yaml"
        at.write_text(text, encoding="utf-8")
        return at

    return write
