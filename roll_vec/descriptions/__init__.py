"""Descriptions of environments: spaces, keywords, rewards, ends, infos, sources.

In reading order:

- `keywords`: the keywords of an id, with the words of the docstrings
- `environments`: everything about an id, from its class and the sections of docstrings
- `report`: the same in sections, for pages, and as text, for ``roll-vec info``

::

    description = describe_env("roll_vec/Sokoban-v0")
    print(description.rewards[0])
"""

from roll_vec.descriptions.environments import EnvDescription, describe_env

__all__ = ["EnvDescription", "describe_env"]
