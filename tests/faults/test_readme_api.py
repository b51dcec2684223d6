"""The API section of the README runs as it stands against a new server, and its last command prints the answer."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.processes import ROOT, deployment

pytestmark = pytest.mark.fault


def readme_shell() -> str:
    """Return every `sh` block of the section "API", in order, as one script."""
    section = (ROOT / "README.md").read_text().split("\n## API\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_api_section_runs_as_it_stands_and_ends_with_the_answer(database, tmp_path):
    with deployment(tmp_path / "data", database) as server:
        server.web()
        server.worker()
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", readme_shell()],
            cwd=ROOT,
            env=server.environment(QUOTIDIAN_URL=server.address),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr + "".join(p.tail() for p in server.processes)
        lines = done.stdout.strip().splitlines()
        answer = server.query("SELECT text FROM chats_message WHERE role = 'assistant'")
        assert "succeeded" in lines
        assert done.stdout.strip().endswith(answer[0][0].strip())
        assert len(answer) == 1
