"""The suite itself: no network, a browser that cannot reach out, and a plain word where there is no browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("connect", [
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),      # a documentation address (RFC 5737)
    lambda: socket.getaddrinfo("example.org", 80),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 53)),
])
def test_tests_cannot_ask_the_network(connect):
    with pytest.raises(OSError, match="may not ask the network"):
        connect()


def test_child_processes_cannot_ask_the_network_but_this_machine_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("localhost", port)).close()
        code = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1)"
        here = subprocess.run([sys.executable, "-c", code, "127.0.0.1", str(port)], capture_output=True, text=True,
                              encoding="utf-8")
        away = subprocess.run([sys.executable, "-c", code, "192.0.2.1", "80"], capture_output=True, text=True,
                              encoding="utf-8")
    assert here.returncode == 0, here.stderr
    assert "may not ask the network" in away.stderr


def test_an_offline_page_lists_what_it_asked_for_and_what_went_wrong(page_offline, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<meta charset=utf-8><p id=p></p><img src='http://192.0.2.1/x.png'>"
                    "<script>p.textContent='语'; throw Error('oops')</script>", encoding="utf-8")
    page_offline.goto(page.as_uri())
    page_offline.wait_for_load_state("load")
    assert page_offline.inner_text("#p") == "语"
    assert page_offline.requests_out == ["http://192.0.2.1/x.png"]
    assert any("oops" in error for error in page_offline.errors)


@pytest.mark.parametrize(("ci", "passes"), [("", True), ("true", False)])
def test_a_missing_chromium_is_said_and_fails_only_in_ci(tmp_path, ci, passes):
    (tmp_path / "test_one.py").write_text("def test_one(page_offline): pass\ndef test_two(): pass", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = browser: needs a Chromium", encoding="utf-8")
    environment = {**os.environ, "LMEXPLAIN_CHROMIUM": str(tmp_path / "absent"), "CI": ci, "PYTHONPATH": str(TESTS)}
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "."],
                         capture_output=True, text=True, encoding="utf-8", env=environment, cwd=tmp_path)
    assert (run.returncode == 0) == passes, run.stdout + run.stderr
    assert "browser tests did not run" in run.stdout
