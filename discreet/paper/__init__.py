"""The paper's numerical section, computed again: `study` its numbers, `pictures` its figures,
`page` the rest.

Source: docs/theory.md, reference 1, numerical section.
"""
