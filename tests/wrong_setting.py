"""Calls that tests make of a peer in a process of its own."""

import sys

from discreet.backends import Options, load_backend, solve
from discreet.backends.peers.tuning import Tuned


def serve(send, name, problem):
    """Send the status of the answer with the backend's own settings, and with the one that does not
    exist.
    """
    send(solve(problem, name).status)
    peer = type(load_backend(name))
    peer.tuning = (*peer.tuning, Tuned("no_such_setting", 1, 0, ""))
    send(solve(problem, name).status)


def serve_imports(send, name, problem):
    """Send whether solving imports nothing of OR-Tools that lowering has not imported."""
    peer = load_backend(name)
    lowered = peer.lower(problem, Options())
    before = {module for module in sys.modules if module.startswith("ortools.")}
    peer.solve(lowered, Options())
    send(before == {module for module in sys.modules if module.startswith("ortools.")})
