"""The programs of docs/clients.md can be found and read; `__main__` runs them."""

from tests.clients.__main__ import ROOT, read_clients


def test_every_client_has_packages_and_a_program():
    clients = read_clients((ROOT / "docs" / "clients.md").read_text("utf-8"))
    assert len(clients) == 7
    for client in clients:
        assert client.packages
        assert "roll_vec" in client.program
        compile(client.program, client.heading, "exec")
