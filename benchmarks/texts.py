"""Tasks of roll_vec's pool of text environments and of its parser of answers."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium.vector import SyncVectorEnv

from benchmarks.tasks import Rate
from roll_vec.envs.sokoban import Sokoban
from roll_vec.objects.base_envs import BaseLanguageBasedEnv
from roll_vec.pool import PoolVectorEnv
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import TextOptions

ANSWER = "<answer>(.*?)</answer>"
LENGTH = 240
_LOOKUP = dict(enumerate(Sokoban.actions, 1))


class Echo(BaseLanguageBasedEnv):
    """A text environment that returns its action, after a wait.

    Parameters
    ----------
    length : int
        Steps of an episode.
    wait : float
        Seconds of a step, as of a call over a network.
    """

    def __init__(self, length: int, wait: float = 0.0) -> None:
        super().__init__()
        self.length, self.wait = length, wait

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Begin an episode."""
        super().reset(seed=seed)
        self.num_steps = 0
        return "say something", {}

    def step(self, action: str) -> Any:
        """Return the action as the observation."""
        if self.wait:
            time.sleep(self.wait)
        self.num_steps += 1
        is_over = self.num_steps == self.length
        info = {"success": True, "value": 1.0} if is_over else {}
        return action, 1.0, is_over, False, info


def pool(
    num_envs: int, length: int = 50, wait: float = 0.0, workers: int | None = None
) -> Rate:
    """Step a pool of environments; with ``workers=None`` Gymnasium's SyncVectorEnv."""
    functions: list[Callable[[], Any]] = [lambda: Echo(length, wait)] * num_envs
    env: Any
    if workers is None:
        env = SyncVectorEnv(functions)
    else:
        env = PoolVectorEnv(functions, workers=workers)
    actions = ("hello",) * num_envs
    env.reset(seed=0)
    steps = 1 if wait else max(4096 // num_envs, 1)

    def work() -> int:
        for _ in range(steps):
            env.step(actions)
        return steps * num_envs

    levels = f"echoes, {length} steps" + (f", {wait * 1e3:.0f} ms each" * (wait > 0))
    settings = {"batch": num_envs, "observation": "text", "levels": levels}
    return Rate(work, "steps/s", settings)


def write_texts(count: int) -> list[str]:
    """Return answers of 240 characters: random thinking, then an action."""
    generator = random.Random(0)
    texts = []
    for _ in range(count):
        answer = f"<answer>{generator.choice([*_LOOKUP.values()])}</answer>"
        letters = LENGTH - len(answer) - len("<think></think>")
        words = "".join(generator.choices("etaoin shrdlu\n", k=letters))
        texts.append(f"<think>{words}</think>{answer}")
    return texts


def parse_plainly(texts: Sequence[str], options: TextOptions) -> list[Any]:
    """Parse texts one by one, with a regular expression and nothing clever."""
    names = {name.lower(): code for code, name in _LOOKUP.items()}
    results = []
    for text in texts:
        for token in options.special_token_list:
            text = text.replace(token, "").strip()
        match = re.search(options.action_pattern, text, re.DOTALL)
        content = match[1].strip() if match else ""
        results.append((names.get(content.lower(), 0), content))
    return results


def parse(num_texts: int = 4096, plainly: bool = False) -> Rate:
    """Parse a batch of answers with roll_vec's parser, or with `parse_plainly`."""
    options = TextOptions(action_pattern=ANSWER)
    texts = write_texts(num_texts)
    parser = ActionParser(options, _LOOKUP)

    def work() -> int:
        if plainly:
            parse_plainly(texts, options)
        else:
            parser.parse_batch(texts)
        return len(texts)

    settings = {"batch": num_texts, "observation": "none", "levels": "240 characters"}
    return Rate(work, "texts/s", settings)
