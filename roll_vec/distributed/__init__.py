"""One vector environment over many processes or machines; needs the extra ``ray``.

::

    vector_env.py       RayVectorEnv: the batch, as the program sees it (the head)
    engine.py           an engine over shards; stacked_engine.py, pool_engine.py
    pending_steps.py    send and recv
    merging.py          results of parts, joined
    shards.py           messages to shards; deaths, restarts, replays
    messages.py         the messages
    ray_actors.py       Ray: everything that depends on it
    shard.py            a shard: a local batch that executes messages
    recipe.py           a recipe by which every shard makes its batch
    wire.py             messages as bytes

Imports go down this list.  A test has shards in its own process in the place of
`ray_actors`, and ends them at any message.
"""

from roll_vec.distributed.vector_env import RayOptions, RayVectorEnv

__all__ = ["RayOptions", "RayVectorEnv"]
