"""Shards in this process, in the place of Ray's actors; they die when a test says."""

import pickle
from collections import Counter

import cloudpickle

import roll_vec
from roll_vec.distributed import RayVectorEnv
from roll_vec.distributed.messages import CannotStartError, ShardDiedError, pack, unpack
from roll_vec.distributed.shard import Shard
from tests.contract.cases import assert_same


class LocalActors:
    """Actors that answer in the calling thread.

    `deaths` has, by shard and number of a message, the time when the shard dies:
    ``"early"``, before it executes the message, or ``"late"``, when the reply is lost;
    with ``"unable"`` its process could not make it.
    Messages are counted from 0 over all lives of a shard.  `num_bytes` is the sum of
    the replies.
    """

    def __init__(self, batch_spec, sizes, deaths=(), compress=False):
        self.batch_spec, self.sizes = cloudpickle.dumps(batch_spec), sizes
        self.deaths, self.compress, self.num_bytes = dict(deaths), compress, 0
        self.counts, self.starts = Counter(), Counter()
        self.messages = []
        self.shards, self.replies = {}, {}
        self.is_closed = False

    def start(self, shard):
        self.starts[shard] += 1
        batch_spec = pickle.loads(self.batch_spec)
        first = sum(self.sizes[:shard])
        self.shards[shard] = Shard(batch_spec, self.sizes[shard], first, self.compress)

    def submit(self, shard, message):
        ticket = len(self.messages)
        self.messages.append((shard, message.call.name, message.restore))
        number = self.counts[shard]
        self.counts[shard] += 1
        when = self.deaths.get((shard, number))
        if self.shards.get(shard) is None or when in ("early", "unable"):
            self.kill(shard)
            self.replies[ticket] = ShardDiedError("killed by the test")
            if when == "unable":
                self.replies[ticket] = CannotStartError("no node can make it")
            return ticket
        self.replies[ticket] = self.shards[shard].answer(pack(message))
        self.num_bytes += len(self.replies[ticket])
        if when == "late":
            self.kill(shard)
            self.replies[ticket] = ShardDiedError("killed by the test")
        return ticket

    def wait(self, tickets, timeout):
        return list(tickets)[:1]

    def result(self, ticket):
        reply = self.replies.pop(ticket)
        if isinstance(reply, Exception):
            raise reply
        return unpack(reply)

    def explain_delay(self):
        return "they are slow"

    def kill(self, shard):
        self.shards[shard] = None

    def close(self):
        for shard in self.shards.values():
            if shard is not None:
                shard.close()
        self.is_closed = True


def make_env(id, num_envs, num_shards, *, deaths=(), **keywords):
    """Return a `RayVectorEnv` over shards of this process."""

    class LocalVectorEnv(RayVectorEnv):
        @staticmethod
        def _make_actors(batch_spec, sizes, options):
            return LocalActors(batch_spec, sizes, deaths, options.compress)

    return LocalVectorEnv(id, num_envs, num_shards, **keywords)


def make_pair(id, num_envs, num_shards, *, seed=0, deaths=(), shards=None, **keywords):
    """Return a batch over shards and a local one; their resets are equal.

    `shards` has the keywords of the former alone.
    """
    own = {"deaths": deaths, **(shards or {})}
    sharded = make_env(id, num_envs, num_shards, **own, **keywords)
    if isinstance(id, str):
        local = roll_vec.make_vec(id, num_envs, **keywords)
    else:
        local = roll_vec.PoolVectorEnv([id] * num_envs, **keywords)
    assert_same(sharded.reset(seed=seed), local.reset(seed=seed))
    return sharded, local


def actors_of(env):
    return env.engine.shards.actors
