"""The documentation as a site: ``make docs``, which is ``mkdocs build``.

- `pages`: mkdocs-gen-files runs it; it writes the pages that are not stored: the API
  reference, the commands, and the tables of `blocks` between the marks of a page
- `blocks`: tables of games, modules and splits, from the code
- `commands`: the help of every command, from the parsers of ``roll-vec``
- `public_names`: the modules and names of roll_vec that users may use
- `docstrings`: an extension of griffe, to show reStructuredText as Markdown
- `hooks`: mkdocs calls it; what the build checks

This folder belongs to the checkout, not to the package.  ``docs`` is in the path of
modules while it is imported.
"""
