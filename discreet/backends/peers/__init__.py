"""Peers: solvers of other projects as backends, one file each, for comparison.

They implement the same contract and are judged in the same way, but run only if they are named:
`auto`, `compare` without names and `advise` leave them out (`Capabilities.peer`). Each gets the
form that suits it best, and the settings that its own documentation recommends if they helped on
our problems. The settings are data (`tuning`), shown in docs/reference/peers.md.
"""
