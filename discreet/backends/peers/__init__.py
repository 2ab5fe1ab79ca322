"""Peers: solvers of other projects as backends, one file each, to be compared with.

They keep the same contract and are judged alike, but run only when they are named: `auto`, `compare` without names and
`advise` leave them out (`Capabilities.peer`). Each is given the form that suits it best and the settings that its own
documentation advises, as far as measuring on our problems bore them out; the settings are data (`tuning`), shown in
docs/reference/peers.md.
"""
