"""What ReFrame's settings mean for the script of a job."""

import subprocess
from types import SimpleNamespace

import pytest

from railyard.rfm import system_choice


@pytest.mark.parametrize(("traps", "code"), [(True, 0), (False, 3)])
def test_a_job_ends_at_its_first_error_also_with_the_settings_of_a_site(
    traps: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"general/0/trap_job_errors": traps}
    monkeypatch.setattr(system_choice, "runtime", lambda: SimpleNamespace(get_option=settings.__getitem__))
    lines = system_choice.end_at_errors()
    assert (lines == ()) is traps  # ReFrame's own trap is in the script then
    script = "\n".join((*lines, "(exit 3)", "true"))
    assert subprocess.run(["bash", "-c", script], check=False).returncode == code
