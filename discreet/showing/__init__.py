"""How results are shown: values that say what is shown, and one renderer for each medium.

values      facts, tables, and the sections of a page
figures     figures, with their axes
numerals    how numbers are written, the same everywhere
terminal    facts and tables by rich
markdown    pages as Markdown
page        pages as one HTML file that loads nothing
notebook    cards of HTML, and tables of pandas
data        what JSON holds, and comma-separated text
plane, svg  the writer of figures: where every piece lies, and its SVG
"""
