"""OpenEnv's validation of a folder and of its server, and the replies of a server.

``python compare.py FILE`` writes rows.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

from openenv.cli._validation import validate_running_environment
from openenv.validation import CheckStatus, ProviderCapability, run_validation
from side_by_side import write
from starlette.testclient import TestClient

from roll_vec.adapters.openenv import create_app

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "adapters" / "data" / "openenv.json"


class ProcessProvider:
    """Starts the server of a folder in a process, not in a container."""

    name = "process"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"public"})

    def build(self, root, execution):
        """Return the digest of no image."""
        self.root = root
        assert (root / execution.dockerfile).is_file()
        return f"sha256:{0:064}"

    def start(self, spec):
        """Return a server that answers, and validate it as a live one."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-B", "-m", "uvicorn", "server.app:app", "--port"]
        process = subprocess.Popen([*command, str(port)], cwd=self.root)

        def stop():
            process.terminate()
            process.wait()

        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/health")
                break
            except OSError:
                time.sleep(0.1)
        self.live = validate_running_environment(url, timeout_s=30)
        return SimpleNamespace(base_url=url, inspect=dict, stop=stop)


def validate():
    """Return the row of the validation of a folder and of its server."""
    sys.path.insert(0, str(ROOT / "docs" / "examples"))
    from hub_folder import write_folder

    with tempfile.TemporaryDirectory() as name:
        write_folder("openenv", Path(name), "roll_vec/Sokoban-v0", "test-1-box")
        provider = ProcessProvider()
        report = run_validation(Path(name), provider=provider)
    assert provider.live["passed"], provider.live
    # The others have no grader, or need a container.
    states = [row.status for row in report.results if row.status != CheckStatus.SKIP]
    assert states == [CheckStatus.PASS] * 5, report.results
    live = provider.live["summary"]["passed_count"]
    result = f"5 of 5 and {live} of {live} checks pass"
    return {"what": "openenv validate: a folder, and its live server", "result": result}


def main():
    """Validate; send the messages, and compare the replies."""
    data = json.loads(DATA.read_text("utf-8"))
    app = create_app("roll_vec/Sokoban-v0", max_concurrent_envs=2, **data["keywords"])
    pairs = data["messages"]
    with TestClient(app).websocket_connect("/ws") as connection:
        for message, reply in pairs:
            connection.send_text(json.dumps(message))
            assert json.loads(connection.receive_text()) == reply
    app.state.sessions.close()
    what = "messages of one connection, as tests/adapters reads them"
    write([{"what": what, "result": f"{len(pairs)} equal replies"}, validate()])


if __name__ == "__main__":
    main()
