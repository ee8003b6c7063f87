"""Each test has a state folder of its own, since what one test leaves changed would stop the next."""

from pathlib import Path

import pytest

from seatrial.driver import restoration


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder; between two tries of a restoration no time passes."""
    folder = tmp_path / "state-home"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setattr(restoration, "PAUSES_S", (0.01, 0.01))
    return folder
