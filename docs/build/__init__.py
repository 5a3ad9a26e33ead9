"""Generated parts of README.md and docs/: ``python -m docs.build`` writes them.

A part is the text between ``<!-- MODULE.FUNCTION WORDS -->`` and ``<!-- end -->``.  The
mark names the public function of this package that returns the text, from the words.
The texts come from the code, or from a file of benchmarks/results.

- `games`: tables of games, keywords and evaluation splits, from their descriptions
- `commands`: the reference of commands, from the parsers of ``roll-vec``
- `diagnosis`: the findings of ``roll-vec diagnose``
- `api`: the public names, from the source files
- `figures`: measured speeds
- `baselines`: success and return of simple policies
- `learning`: learning from the exact credit, and estimators of it
- `frameworks`: comparisons with other frameworks
- `tables`: tables and lists of Markdown
- `pages`: pages with marks, and the replacement of their parts
- `site`: the hooks of mkdocs, which makes the site in build/site from the same files
"""
