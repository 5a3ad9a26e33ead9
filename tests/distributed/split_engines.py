"""One engine over those of several batches: what the head does, in one process."""

import numpy as np

from roll_vec.distributed.merging import (
    merge_observations,
    merge_reset_infos,
    merge_steps,
    merge_unrolls,
)


class SplitEngine:
    """An engine whose environments belong to several engines.

    Parameters
    ----------
    engines : list of Engine
    whole : Engine
        Of all environments, for the spaces and the checks of actions.
    """

    def __init__(self, engines, whole):
        self.engines, self._whole = engines, whole
        self.num_envs = whole.num_envs
        self.single_observation_space = whole.single_observation_space
        self.single_action_space = whole.single_action_space
        self.observation_space = whole.observation_space
        self.action_space = whole.action_space
        self.metadata, self.render_mode = whole.metadata, None
        sizes = [engine.num_envs for engine in engines]
        self._starts = np.cumsum([0, *sizes])

    def _split(self, env_ids):
        """Yield each engine that has some of the environments, and where they are."""
        for engine, start in zip(self.engines, self._starts, strict=False):
            places = (env_ids >= start) & (env_ids < start + engine.num_envs)
            if places.any():
                yield engine, env_ids[places] - start, places.nonzero()[0]

    def reset(self, env_ids, seeds, options=None):
        for engine, own_ids, places in self._split(env_ids):
            engine.reset(own_ids, [seeds[i] for i in places], options)

    def advance(self, env_ids):
        for engine, own_ids, _ in self._split(env_ids):
            engine.advance(own_ids)

    def reset_infos(self, env_ids):
        parts = [engine.reset_infos(own) for engine, own, _ in self._split(env_ids)]
        return merge_reset_infos(parts)

    def check_actions(self, actions, skip_mask):
        self._whole.check_actions(actions, skip_mask)
        return actions

    def step(self, actions, skip_mask):
        results = []
        for engine, start in zip(self.engines, self._starts, strict=False):
            own = slice(start, start + engine.num_envs)
            checked = engine.check_actions(actions[own], skip_mask[own])
            results.append(engine.step(checked, skip_mask[own]))
        return merge_steps(results)

    def observe(self, out=None):
        parts = [engine.observe() for engine in self.engines]
        return merge_observations(self.single_observation_space, parts, out)

    def observe_envs(self, env_ids):
        parts = [engine.observe_envs(own) for engine, own, _ in self._split(env_ids)]
        return [observation for part in parts for observation in part]

    def unroll(self, actions, has_ended, mode, out):
        results = []
        for engine, start in zip(self.engines, self._starts, strict=False):
            own = slice(start, start + engine.num_envs)
            results.append(engine.unroll(actions[:, own], has_ended[own], mode, None))
        if results[0] is None:
            return None
        return merge_unrolls(self.single_observation_space, results, out)
