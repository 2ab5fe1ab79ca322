"""Peers: solvers of other projects as backends, one file each, to compare with.

They keep the same contract and are judged in the same way, but run only when they are named:
`auto`, `compare` without names and `advise` leave them out (`Capabilities.peer`). Each gets the
form that suits it best, and the settings that its own documentation advises if they helped on our
problems. The settings are data (`tuning`), shown in docs/reference/peers.md.
"""
