"""Descriptions of environments: spaces, keywords, rewards, ends, infos, sources.

In reading order:

- `keywords`: the keywords of an id, with the words of the docstrings
- `environments`: everything about an id, from its class and the sections of docstrings
- `report`: the same in sections, for pages, and as text, for ``roll-vec info``

::

    description = describe_env("roll_vec/Sokoban-v0")
    print(description.rewards[0])
    print(format_description(description))
"""

from roll_vec.descriptions.environments import (
    Cell,
    EnvDescription,
    Info,
    Observation,
    Reward,
    Source,
    describe_env,
)
from roll_vec.descriptions.keywords import (
    Keyword,
    describe_batch_keywords,
    describe_keywords,
)
from roll_vec.descriptions.report import (
    Section,
    describe_sections,
    format_description,
)

__all__ = [
    "Cell",
    "EnvDescription",
    "Info",
    "Keyword",
    "Observation",
    "Reward",
    "Section",
    "Source",
    "describe_batch_keywords",
    "describe_env",
    "describe_keywords",
    "describe_sections",
    "format_description",
]
