"""A peer solves a problem with one setting more than its solver has, in a process of its own."""

from discreet.backends.peers.tuning import Tuned
from discreet.backends.registry import load_backend
from discreet.backends.run import solve

__all__ = ["serve"]


def serve(send, name, problem):
    """Send the status of the answer with the backend's own settings, and with the one that does not
    exist.
    """
    send(solve(problem, name).status)
    peer = type(load_backend(name))
    peer.tuning = (*peer.tuning, Tuned("no_such_setting", 1, 0, ""))
    send(solve(problem, name).status)
