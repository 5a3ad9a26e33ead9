"""One vector environment over many processes or machines; needs the extra ``ray``.

::

    vector_env.py       RayVectorEnv: the batch, as the program sees it (the head)
    options.py          keywords of RayVectorEnv
    steps.py            steps of some environments, as send and recv need them
    stacked_engine.py   an engine over shards, of stacked arrays; pool_engine.py: pools
    engine.py           what both share
    shards.py           messages to shards; deaths, restarts, replays
    ray_actors.py       Ray: everything that depends on it
    shard.py            a shard: a local batch that executes messages
    batch_spec.py       the environments, in a form by which every shard makes its own
    messages.py         the messages, as bytes, and the interface of the processes

Imports go down this list.  A test has shards in its own process in the place of
`ray_actors`, and ends them at any message.
"""

from roll_vec.distributed.options import RayOptions
from roll_vec.distributed.vector_env import RayVectorEnv

__all__ = ["RayOptions", "RayVectorEnv"]
