"""Environments with bugs in seeds, in partial resets and in autoresets."""

from __future__ import annotations

import numpy as np
from gymnasium.utils.seeding import np_random

from tests.testing.bug_table import ENTROPY, bug_table
from tests.testing.walk import NEXT_STEP, SAME_STEP, Walk

BUGS, breaks = bug_table()


@breaks("deterministic", "reseed", "seed-list", "seed-batch", "seed-none",
       "unseeded-reset", "reset-mask", "reset-mask-masked", "reset-mask-seeds",
       "internal-memory", "next-step-action", "next-step-reset", "next-step-explicit",
       "modes-agree", "render-moves")  # fmt: skip
class Entropy(Walk):
    def begin(self, env, seed=None):
        super().begin(env, seed)
        self.state[env, 2] = next(ENTROPY) % 1000


@breaks("reseed", "reset-mask-seeds")
class ClockGoesOn(Walk):
    def begin(self, env, seed=None):
        clock = self.state[env, 1]
        super().begin(env, seed)
        if seed is not None:
            self.state[env, 1] = clock > 0


@breaks("unseeded-first")
class NeedsSeed(Walk):
    def begin(self, env, seed=None):
        if seed is None and self.rngs[env] is None:
            self.rngs[env] = np_random(0)[0]
            self.state[env] = -1
        else:
            super().begin(env, seed)


@breaks("seed-list")
class IntSeedsDiffer(Walk):
    def seeds_of(self, seed, rows):
        return super().seeds_of(seed + 1 if isinstance(seed, int) else seed, rows)

    @property
    def np_random_seed(self):
        return tuple(seed - 1 for seed in self.seeds)


@breaks("seed-batch", "seed-list", "np-random-seed")
class SeedsByBatchSize(Walk):
    def seeds_of(self, seed, rows):
        if isinstance(seed, int) and seed >= 0:
            seed = [seed + env * (self.num_envs - 1) for env in range(self.num_envs)]
        return super().seeds_of(seed, rows)


@breaks("seed-batch", "seed-none", "reset-mask", "reset-mask-masked",
       "next-step-explicit", "modes-agree")  # fmt: skip
class OneGenerator(Walk):
    def begin(self, env, seed=None):
        super().begin(env, seed)
        self.rngs = [self.rngs[0]] * self.num_envs


@breaks("seed-none")
class NoneSeedsAnew(Walk):
    def seeds_of(self, seed, rows):
        if isinstance(seed, list):
            seed = [env if one is None else one for env, one in enumerate(seed)]
        return super().seeds_of(seed, rows)


@breaks("seed-length")
class AnyNumberOfSeeds(Walk):
    def seeds_of(self, seed, rows):
        if isinstance(seed, list):
            seed = (seed * self.num_envs)[: self.num_envs]
        return super().seeds_of(seed, rows)


@breaks("seed-negative")
class AbsoluteSeeds(Walk):
    def seeds_of(self, seed, rows):
        return super().seeds_of(abs(seed) if isinstance(seed, int) else seed, rows)


@breaks("unseeded-reset", "seed-batch", "seed-none", "reset-mask-masked",
       "next-step-reset")  # fmt: skip
class UnseededDrawsEntropy(Walk):
    def seeds_of(self, seed, rows):
        if seed is None and rows.all() and self.num_envs != 2:
            seed = [1_000_000 + next(ENTROPY) for _ in rows]
        return super().seeds_of(seed, rows)


@breaks("stream-restarts")
class SameEpisodeForEver(Walk):
    def begin(self, env, seed=None):
        super().begin(env, self.seeds[env] if seed is None else seed)


@breaks("np-random-seed")
class WrongSeedReported(Walk):
    @property
    def np_random_seed(self):
        return tuple(range(1, self.num_envs + 1))


@breaks("reset-mask", "seed-batch", "modes-agree")
class MaskIgnored(Walk):
    def rows_to_reset(self, options):
        return np.ones_like(super().rows_to_reset(options))


@breaks("reset-mask", "raises")
class MaskUnknown(Walk):
    def rows_to_reset(self, options):
        if options:
            raise TypeError(options)
        return super().rows_to_reset(options)


@breaks("reset-mask", "reset-mask-masked", "seed-batch", "next-step-explicit",
       "modes-agree")  # fmt: skip
class MaskShakesTheOthers(Walk):
    def rows_to_reset(self, options):
        rows = super().rows_to_reset(options)
        for env in np.flatnonzero(~rows):
            self.rngs[env].random()
        return rows


@breaks("reset-mask-masked", "reset-mask-seeds")
class MaskResetsOnlyTheLast(Walk):
    def rows_to_reset(self, options):
        rows = super().rows_to_reset(options)
        if not rows.all():
            rows[: np.flatnonzero(rows)[-1]] = False
        return rows


@breaks("reset-mask-seeds")
class MaskedSeedsIgnored(Walk):
    def seeds_of(self, seed, rows):
        return super().seeds_of(seed if rows.all() else None, rows)


@breaks("reset-mask-infos")
class InfosOfAll(Walk):
    def reset(self, *, seed=None, options=None):
        observations, _ = super().reset(seed=seed, options=options)
        return observations, self.reset_infos(np.ones(self.num_envs, np.bool_))


@breaks("reset-mask-refused")
class AnyMask(Walk):
    def rows_to_reset(self, options):
        mask = (options or {}).get("reset_mask", [True] * self.num_envs)
        return np.array(mask, np.bool_)[: self.num_envs]


@breaks("options-mutated")
class OptionsPopped(Walk):
    def rows_to_reset(self, options):
        rows = super().rows_to_reset(options)
        if options:
            options.pop("reset_mask", None)
        return rows


@breaks("next-step-outcome")
class RewardAfterEnd(Walk):
    def results(self, rewards, *others):
        return super().results(rewards + (rewards == 0), *others)


@breaks("next-step-action", "modes-agree", "next-step-reset", "next-step-explicit")
class ActionAfterEnd(Walk):
    def autoreset(self, env, action):
        super().autoreset(env, action)
        if action is not None:
            self.state[env, 0] += action


@breaks("next-step-reset", "modes-agree", "next-step-explicit")
class AutoresetSkipsOne(Walk):
    def autoreset(self, env, action):
        if self.mode is NEXT_STEP:
            self.rngs[env].random()
        super().autoreset(env, action)


@breaks("next-step-explicit", "reset-mask-masked")
class MaskedStaysPending(Walk):
    def clear_ended(self, rows):
        if rows.all() or self.mode is not NEXT_STEP:
            super().clear_ended(rows)


@breaks("final-obs")
class NoFinalObs(Walk):
    def same_step(self, infos, slipped):
        infos = super().same_step(infos, slipped)
        del infos["final_obs"], infos["_final_obs"]
        return infos


@breaks("final-obs")
class DenseFinalObs(Walk):
    def same_step(self, infos, slipped):
        infos = super().same_step(infos, slipped)
        for env in np.flatnonzero(~infos["_final_obs"]):
            infos["final_obs"][env] = self.observations()[env]
        return {**infos, "_final_obs": np.ones(self.num_envs, np.bool_)}


@breaks("final-info")
class ListFinalInfo(Walk):
    def same_step(self, infos, slipped):
        infos = super().same_step(infos, slipped)
        return {**infos, "final_info": np.full(self.num_envs, None, object)}


@breaks("final-absent")
class AlwaysFinal(Walk):
    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        if self.mode is SAME_STEP and not self.dones.any():
            infos["final_obs"] = np.full(self.num_envs, None, object)
            infos["_final_obs"] = np.zeros(self.num_envs, np.bool_)
        return infos


@breaks("disabled-raises")
class StepsOnAfterEnd(Walk):
    def refuse_ended(self):
        pass


@breaks("disabled-moves")
class RaisesInTheMiddle(Walk):
    def refuse_ended(self):
        if self.dones.any():
            self.move(
                np.zeros(self.num_envs),
                ~self.dones & (self.dones.cumsum() == 0),
            )
        super().refuse_ended()


@breaks("modes-agree")
class FinalObsOfNextEpisode(Walk):
    def same_step(self, infos, slipped):
        infos = super().same_step(infos, slipped)
        for env in np.flatnonzero(infos["_final_obs"]):
            infos["final_obs"][env] = self.observations()[env]
        return infos


@breaks("modes-agree", "reseed", "seed-batch", "reset-mask")
class ObservationsLag(Walk):
    last = None

    def observations(self):
        now = super().observations()
        before, self.last = self.last, now
        return (now if before is None else before).copy()
