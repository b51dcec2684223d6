"""How browser tests start the browser: Debian's Chromium, without the background look-ups of a desktop browser."""

from __future__ import annotations

import os
import shutil

import pytest

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    """Use the system's Chromium; as root it runs without its sandbox."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return {**browser_type_launch_args, "executable_path": path, "args": FLAGS + root}
