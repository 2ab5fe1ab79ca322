"""The paper's numerical section, computed again: `study` its numbers, `drawings` its figures,
`section` the page and the files.

Source: docs/theory.md, reference 1, numerical section.
"""
