"""Environments with one bug each: a walk of `walks` with some lines exchanged.

A row begins with the name of the bug and the codes that the checker reports: that of
the bug itself, then those that follow from it.  Bugs with one number do not hide each
other: an environment can have all of them at once.  Below each line of the walk are
those with "+" that stand in its place ("-"), before it ("<") or after it (">"); those
before the first are new members of the class.
"""

from tests.testing.walks import read_rows

# ------------------------------------------------------------------- construction
WALKS = """
RefusesEverything: construct
+ def __new__(cls, num_envs, **kwargs):
+     raise RuntimeError("no such thing")
EvenBatchesOnly: construct
< self.num_envs, self.render_mode = num_envs, render_mode
+ if num_envs == 1:
+     raise ValueError(num_envs)
OneTooMany: spaces
+ @property
+ def num_envs(self):
+     return self.count + 1
+ @num_envs.setter
+ def num_envs(self, num_envs):
+     self.count = num_envs
NotSameStep 1: autoreset-keyword
< self.mode = AutoresetMode(autoreset_mode)
+ if autoreset_mode is SAME_STEP:
+     raise NotImplementedError
TakesNoMode 3: autoreset-keyword
- def __init__(self, num_envs=1, autoreset_mode=NEXT_STEP, render_mode=None):
+ def __init__(self, num_envs):
+     autoreset_mode, render_mode = NEXT_STEP, None
IgnoresTheMode 1: autoreset-metadata
- self.mode = AutoresetMode(autoreset_mode)
+ self.mode = NEXT_STEP
SharedMetadata 1: metadata-shared
+ shared = {mode: {"autoreset_mode": mode} for mode in AutoresetMode}
- self.metadata = {**self.metadata, "autoreset_mode": self.mode}
+ self.metadata = self.shared[self.mode]
WrongBatchedSpace 1: batched-spaces
- self.observation_space = spaces.Box(0, 999, (num_envs, 3), np.float32)
+ self.observation_space = spaces.Box(-1, 999, (num_envs, 3), np.float32)
BornClosed 1: attributes
+ closed = None
NumberedRenderMode 4: attributes render
+ render_mode = property(lambda self: 3, lambda self, mode: None)
UnwrapsToAnother 2: attributes spec-settable np-random-seed
+ unwrapped = property(lambda self: type(self)(self.num_envs))
"""

# -------------------------------------------------------- results, infos and memory
WALKS += """
NoResetInfos 1: reset-result
- return self.observations(), self.reset_infos(rows)
+ return self.observations()
TwoRewardsAndNoInfos: step-result
- return self.observations(), rewards, terminations, truncations, infos
+ return self.observations(), rewards[:2], terminations, truncations, None
ReportsItsFailures 2: environment-error
> infos["_detail"] = rows.copy()
+ # A message of a pool is a failure, a text of the task is none.
+ late = rows & (clock >= TIME)
+ texts = [FaultMessage("no paper") if is_late else "no ink" for is_late in late]
+ infos["error"] = np.where(rows, np.array(texts, object), None)
+ infos["_error"] = rows.copy()
OutOfSpace 4: observation-space unseeded-first final-obs
- return self.state.astype(np.float32)
+ return self.state.astype(np.float32) - 1
Float32Rewards 2: reward-dtype
< return self.observations(), rewards, terminations, truncations, infos
+ rewards = rewards.astype(np.float32)
InfiniteRewards 2: reward-finite
> rewards = np.where(starts, 0.0, self.state[:, 0] - 4.0)
+ rewards[rewards > 1] = np.inf
FlagsAsNumbers 2: flag-dtype
- return self.observations(), rewards, terminations, truncations, infos
+ return self.observations(), rewards, terminations * 1, truncations, infos
WrongActionSpace: action-sample batched-spaces raises
- self.action_space = spaces.MultiDiscrete([2] * num_envs)
+ self.action_space = spaces.MultiDiscrete([2] * num_envs + [2])
ListInfo 2: info-layout
- infos = {"slipped": slipped & rows, "_slipped": rows.copy()}
+ infos = {"slipped": (slipped & rows).tolist(), "_slipped": rows.copy()}
NoInnerMask 4: info-mask
- infos["detail"] = {"clock": clock, "_clock": rows.copy()}
+ infos["detail"] = {"clock": clock}
FirstWriterDtype 4: info-dtype
- "start": np.where(rows, self.state[:, 0].astype(int), 0),
+ "start": (self.state[:, 0] * rows).astype(int if rows.all() else np.int8),
ReadOnlyRewards 4: writable
> rewards = np.where(starts, 0.0, self.state[:, 0] - 4.0)
+ rewards.flags.writeable = False
OneBuffer 5: fresh-arrays modes-agree
+ buffer = None
- return self.state.astype(np.float32)
+ if self.buffer is None:
+     self.buffer = self.state.astype(np.float32)
+ self.buffer[:] = self.state
+ return self.buffer
LiveFlags 4: internal-memory
- self.dones[rows] = False
+ self.dones = self.dones & ~rows
< return self.observations(), rewards, terminations, truncations, infos
+ if self.mode is not SAME_STEP and not truncations.any():
+     self.dones = terminations
WritesActions 4: arguments-mutated
- actions = self.checked(actions)
+ callers, actions = actions, self.checked(actions).copy()
+ callers[:] = 0
"""

# ------------------------------------------------------------------ seeds and resets
WALKS += """
Entropy: deterministic reseed seed-list seed-batch seed-none unseeded-reset reset-mask \
reset-mask-masked reset-mask-seeds internal-memory next-step-action next-step-reset \
next-step-explicit modes-agree render-moves
- self.state[env] = rng.integers(3, 6), 0, rng.integers(1000)
+ self.state[env] = rng.integers(3, 6), 0, next(ENTROPY) % 1000
ClockGoesOn 5: reseed reset-mask-seeds
- self.state[env] = rng.integers(3, 6), 0, rng.integers(1000)
+ clock = seed is not None and self.state[env, 1] > 0
+ self.state[env] = rng.integers(3, 6), clock, rng.integers(1000)
NeedsSeed 5: unseeded-first
- if seed is not None or self.rngs[env] is None:
+ if seed is None and self.rngs[env] is None:
+     self.rngs[env] = np_random(0)[0]
+     self.state[env] = -1
+     return
+ if seed is not None:
IntSeedsDiffer 5: seed-list
- seed = [None if seed is None else seed + i for i in range(self.num_envs)]
+ seed = [None if seed is None else seed + i + 1 for i in range(self.num_envs)]
- return tuple(self.seeds)
+ return tuple(seed - 1 for seed in self.seeds)
RefusesListsOfSeeds: seed-list
< if len(seed) != self.num_envs:
+ elif isinstance(seed, list):
+     raise TypeError(seed)
SeedsByBatchSize 6: seed-batch seed-list np-random-seed
- seed = [None if seed is None else seed + i for i in range(self.num_envs)]
+ n = self.num_envs
+ seed = [None if seed is None else seed + i * (n - 1) for i in range(n)]
OneGenerator 7: seed-batch seed-none reset-mask reset-mask-masked next-step-explicit \
modes-agree
> self.state[env] = rng.integers(3, 6), 0, rng.integers(1000)
+ self.rngs = [self.rngs[0]] * self.num_envs
AnyNumberOfSeeds 5: seed-length
< if len(seed) != self.num_envs:
+ seed = (seed * self.num_envs)[: self.num_envs]
AbsoluteSeeds 7: seed-negative
- seed = [None if seed is None else seed + i for i in range(self.num_envs)]
+ seed = [seed if seed is None else abs(seed) + i for i in range(self.num_envs)]
UnseededDrawsEntropy 8: unseeded-reset seed-batch seed-none reset-mask-masked \
next-step-reset
< if seed is None or isinstance(seed, int):
+ if seed is None and rows.all() and self.num_envs != 2:
+     seed = [1_000_000 + next(ENTROPY) for _ in rows]
SameEpisodeForEver 6: stream-restarts
< if seed is not None or self.rngs[env] is None:
+ seed = self.seeds[env] if seed is None else seed
WrongSeedReported 7: np-random-seed
- return tuple(self.seeds)
+ return tuple(range(1, self.num_envs + 1))
MaskIgnored 9: reset-mask seed-batch modes-agree
- return mask.copy()
+ return np.ones_like(mask)
MaskUnknown: reset-mask raises
- mask = (options or {}).get("reset_mask")
+ if options:
+     raise TypeError(options)
+ mask = None
MaskResetsOnlyTheLast 10: reset-mask-masked reset-mask-seeds
- return mask.copy()
+ mask = mask.copy()
+ mask[: np.flatnonzero(mask)[-1]] &= mask.all()
+ return mask
MaskedSeedsIgnored 6: reset-mask-seeds
< if seed is None or isinstance(seed, int):
+ seed = seed if rows.all() else None
InfosOfAll 5: reset-mask-infos
- return self.observations(), self.reset_infos(rows)
+ return self.observations(), self.reset_infos(rows | True)
AnyMask 6: reset-mask-refused
- self.refuse_bad_mask(mask)
+ mask = np.array(mask, np.bool_)[: self.num_envs]
OptionsPopped 6: options-mutated
- return mask.copy()
+ return options.pop("reset_mask").copy()
"""

# ----------------------------------------------------------------------- autoresets
WALKS += """
RewardAfterEnd 6: next-step-outcome
- rewards = np.where(starts, 0.0, self.state[:, 0] - 4.0)
+ rewards = np.where(starts, 1.0, self.state[:, 0] - 4.0)
ActionAfterEnd 6: next-step-action modes-agree next-step-reset next-step-explicit
> self.begin(env)
+ self.state[env, 0] += action or 0
AutoresetSkipsOne 7: next-step-reset modes-agree next-step-explicit
< self.begin(env)
+ if self.mode is NEXT_STEP:
+     self.rngs[env].random()
MaskedStaysPending: next-step-explicit reset-mask-masked
- self.dones[rows] = False
+ if rows.all() or self.mode is not NEXT_STEP:
+     self.dones[rows] = False
NoFinalObs 6: final-obs
- infos.update(final_obs=final_obs, _final_obs=dones)
ListFinalInfo 7: final-info
< infos.update(final_info=final_info, _final_info=dones.copy())
+ final_info = np.full(self.num_envs, None, object)
AlwaysFinal 7: final-absent
< return self.observations(), rewards, terminations, truncations, infos
+ if self.mode is SAME_STEP and not (terminations | truncations).any():
+     infos["final_obs"] = np.full(self.num_envs, None, object)
+     infos["_final_obs"] = np.zeros(self.num_envs, np.bool_)
StepsOnAfterEnd 7: disabled-raises
- raise ResetNeeded(self.dones)
+ pass
RaisesInTheMiddle 8: disabled-moves
< raise ResetNeeded(self.dones)
+ before_the_first_end = ~self.dones & (self.dones.cumsum() == 0)
+ self.move(np.zeros(self.num_envs), before_the_first_end)
FinalObsOfNextEpisode 10: modes-agree
< infos.update(final_obs=final_obs, _final_obs=dones)
+ for env in np.flatnonzero(dones):
+     final_obs[env] = self.observations()[env]
"""

# ----------------------------------------------------- misuse, closing and rendering
WALKS += """
AnyNumberOfActions 8: action-count action-invalid
< if np.shape(actions) != (self.num_envs,):
+ actions = np.resize(actions, self.num_envs).astype(np.int64)
MovesBeforeChecking 9: action-count-moves action-invalid-moves
< if np.shape(actions) != (self.num_envs,):
+ if np.shape(actions) != (self.num_envs,) or max(actions) > 1 or min(actions) < 0:
+     self.state[0, 2] = (self.state[0, 2] + 1) % 1000
StepsUnreset 8: step-before-reset
> if not self.ready:
+     self.reset()
+ if not self.ready:
StaysOpen 8: closed-flag
+ close = VectorEnv.close_extras
ClosesOnce 9: close-twice close-raises
+ def close(self):
+     if self.closed:
+         raise RuntimeError("closed already")
+     super().close()
GoesOnClosed 9: use-after-close
- raise ClosedEnvironmentError
+ self.state[:] = 0
NoAttributes 8: vector-methods
- def get_attr(self, name):
+ get_attr = None
+ def get_no_attr(self, name):
AnyRenderMode 8: render-mode-unknown render render-moves
- if render_mode not in (None, "ansi"):
+ if False:
- return tuple("." * int(cell) + "@" for cell in self.state[:, 0])
+ self.rngs[0].random()
+ return ["." * int(cell) + "@" for cell in self.state[:, 0]]
HangsClosing: call-limit
+ close = lambda self: hang()
RaisesAtReset: raises
- actions = self.checked(actions)
+ raise NotImplementedError
Hangs: call-limit
- slipped = np.zeros(self.num_envs, np.bool_)
+ hang()
"""

# ----------------------------------------------------------------------------- texts
TALKS = """
AcceptsOneText 11: action-count
- if not isinstance(texts, (list, tuple)) or len(texts) != self.num_envs:
+ if len(texts) != self.num_envs:
AcceptsAnything 11: action-invalid
- raise TypeError(texts)
+ texts = [str(text) for text in texts]
MovesUntilABadText 12: action-invalid-moves
< raise TypeError(texts)
+ for env in itertools.takewhile(lambda i: isinstance(texts[i], str), range(9)):
+     self.state[env, 2] = (self.state[env, 2] + 1) % 1000
KeepsTheCallersList 11: internal-memory
< self.last_texts = list(texts)
+ # The list of the step before must not be used later: here it is.
+ last, self.callers = getattr(self, "callers", texts), texts
+ if len(last) != self.num_envs:
+     self.state[:, 2] = (self.state[:, 2] + 1) % 1000
ReturnsAnArray 11: observation-layout
- return tuple(texts)
+ return np.array(texts)
ReturnsAnEmptyBuffer: text-stale
- return tuple(texts)
+ return ("a" * 60,) * self.num_envs
InfosOfFixedWidth 11: info-dtype
- infos["said"], infos["_said"] = np.where(rows, texts, None), rows.copy()
+ infos["said"] = np.array(np.where(rows, texts, "").tolist())
+ infos["_said"] = rows.copy()
EmptyTextsOutsideTheMask 12: info-outside-mask
- infos["said"], infos["_said"] = np.where(rows, texts, None), rows.copy()
+ infos["said"], infos["_said"] = np.where(rows, texts, ""), rows.copy()
ValuesOutsideTheMask 11: info-outside-mask
- infos["value"], infos["_value"] = np.where(long, lengths, 0), long
+ infos["value"], infos["_value"] = np.where(long, lengths, 1), long
SamplesOutside 12: action-sample
> self.last_texts = [""] * self.num_envs
+ for space in self.action_space:
+     space.sample = lambda *args, **kwargs: "abcde!"
SamplesWithoutASeed: action-sample
> self.last_texts = [""] * self.num_envs
+ for space in self.action_space:
+     space.sample = lambda *args, **kwargs: f"a{next(ENTROPY)}"[:10]
"""

# ---------------------------------------------------------- of ids that are registered
IDS = """
StringRefused: autoreset-string
- self.mode = AutoresetMode(autoreset_mode)
+ assert isinstance(autoreset_mode, AutoresetMode)
+ self.mode = autoreset_mode
StringIgnored: autoreset-string
- self.mode = AutoresetMode(autoreset_mode)
+ self.mode = NEXT_STEP if isinstance(autoreset_mode, str) else autoreset_mode
NoSpec: spec-rebuild spec-settable
+ spec = property(lambda self: None, lambda self, spec: None)
"""

BUGS = {**read_rows(WALKS, "Walk"), **read_rows(TALKS, "Talk")}
BUGS_OF_IDS = read_rows(IDS, "Walk")
