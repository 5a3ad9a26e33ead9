"""The programs of docs/clients.md can be found and read; `__main__` runs them."""

from pathlib import Path

from tests.clients.__main__ import ROOT, read_clients


def test_every_client_has_packages_and_a_program():
    clients = read_clients((ROOT / "docs" / "clients.md").read_text("utf-8"))
    assert len(clients) == 7
    for client in clients:
        assert client.packages
        assert "roll_vec" in client.program
        compile(client.program, client.heading, "exec")


def test_every_check_has_its_section():
    clients = read_clients((ROOT / "docs" / "clients.md").read_text("utf-8"))
    headings = {client.heading.lower() for client in clients}
    checks = [file.stem for file in Path(__file__).parent.glob("check_*.py")]
    assert checks
    assert {name.removeprefix("check_") for name in checks} <= headings
