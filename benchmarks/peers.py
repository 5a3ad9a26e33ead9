"""The work of other packages; one that is not installed skips its tests.

Each function returns work and its number of steps, as `benchmarks.batches.steps`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.batches import draw_actions

Work = tuple[Callable[[], Any], int]

# These versions were tried.
INSTALL = {
    "envpool": "pip install envpool==1.2.5",
    "jumanji": "pip install jumanji==1.1.2 'jax[cpu]'",
    # Its dependencies lack six, and refuse Gymnasium 1.4.
    "gymnax": "pip install 'jax[cpu]<0.12' flax seaborn six && "
    "pip install --no-deps gymnax==1.0.1",
    # Its room generator needs only numpy; its dependencies are the old gym.
    "gym_sokoban": "pip install --no-deps gym-sokoban==0.0.6",
    "reasoning_gym": "pip install reasoning-gym==0.1.25",
    "ray": "pip install 'ray>=2.40'",
    "minigrid": "pip install minigrid==3.2.0",
    "navix": "pip install navix==0.7.4",
}
# Of a call; Jumanji's steps are slower.
GYMNAX_STEPS, JUMANJI_STEPS, NAVIX_STEPS = 128, 16, 32
# The levels of Boxoban: of each cell the fixed part, then the movable part.
SIZE, NUM_BOXES = 10, 4
FLOOR, WALL, TARGET = range(3)
NOTHING, PLAYER, BOX = 0, 3, 4
# roll_vec's codes of both.
CODES = np.zeros((3, 5), np.uint8)
CODES[FLOOR, [NOTHING, PLAYER, BOX]] = 1, 5, 4
CODES[TARGET, [NOTHING, PLAYER, BOX]] = 2, 6, 3


def require(name: str) -> Any:
    """Return the module of a peer; skip the test if it is not installed."""
    reason = f"{name} is not installed: {INSTALL[name]}"
    return pytest.importorskip(name, reason=reason, exc_type=ImportError)


def require_minigrid(id: str) -> str:
    """Return an id of minigrid; skip the test if there is none."""
    require("minigrid")
    if id not in gymnasium.registry:
        pytest.skip(f"minigrid has no {id}")
    return id


def envpool_steps(id: str, num_envs: int, is_async: bool = False) -> Work:
    """Step a game of EnvPool on one thread, which is fastest where steps are cheap.

    ``is_async``: on all cores, half of the environments at a time, which is fastest
    where they are not.
    """
    envpool = require("envpool")
    if id not in envpool.list_all_envs():
        pytest.skip(f"EnvPool has no {id}")
    batch = num_envs // 2 if is_async else num_envs
    env = envpool.make(
        id,
        env_type="gymnasium",
        num_envs=num_envs,
        batch_size=batch,
        num_threads=len(os.sched_getaffinity(0)) if is_async else 1,
        seed=0,
        # By default it looks for levels elsewhere, and gives all the same one.
        base_path=str(Path(envpool.__file__).parent),
    )
    actions = draw_actions(env.action_space, 128, num_envs)
    if actions.dtype.kind == "i":
        actions = actions.astype(np.int32)
    steps, plan = max(2048 // batch, 2), itertools.cycle(actions)

    def work() -> None:
        for row in itertools.islice(plan, steps):
            if is_async:
                ids = env.recv()[4]["env_id"]
                env.send(row[ids], ids)
            else:
                env.step(row)

    env.async_reset() if is_async else env.reset()
    return work, steps * batch


def gymnax_steps(id: str, num_envs: int, **keywords: Any) -> Work:
    """Step a game of gymnax as one compiled scan, which keeps only sums of rewards."""
    gymnax = require("gymnax")
    import jax
    import jax.numpy as jnp

    env, options = gymnax.make(id, **keywords)
    key = jax.random.PRNGKey(0)
    keys = jax.random.split(key, num_envs)
    _, state = jax.jit(jax.vmap(env.reset, (0, None)))(keys, options)
    step_envs = jax.vmap(env.step, (0, 0, 0, None))

    def one(carry: Any, actions: Any) -> tuple[Any, None]:
        key, state, total = carry
        key, own = jax.random.split(key)
        keys = jax.random.split(own, num_envs)
        _, state, rewards, *_ = step_envs(keys, state, actions, options)
        return (key, state, total + rewards), None

    plan = draw_actions(env.action_space(options), GYMNAX_STEPS, num_envs)
    return _scan(one, (key, state, jnp.zeros(num_envs, jnp.float32)), plan)


def navix_steps(id: str, num_envs: int) -> Work:
    """Step a game of NAVIX as one compiled scan on one core, which keeps only rewards.

    Its observation is that of `navix.make`: the whole grid, which takes it less time
    than the view of the agent.
    """
    # Read when jax starts.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    navix = require("navix")
    import jax

    env = navix.make(id.replace("MiniGrid", "Navix"))
    keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
    state, step = jax.jit(jax.vmap(env.reset))(keys), jax.vmap(env.step)

    def one(state: Any, actions: Any) -> tuple[Any, Any]:
        state = step(state, actions)
        return state, state.reward

    generator = np.random.default_rng(0)
    plan = generator.integers(len(env.action_set), size=(NAVIX_STEPS, num_envs))
    return _scan(one, state, plan)


def jumanji_steps(id: str, num_envs: int) -> Work:
    """Step a game of Jumanji as one compiled scan, which keeps only rewards."""
    return _jumanji_scan(require("jumanji").make(id), num_envs)


def jumanji_sokoban(num_envs: int) -> Work:
    """Step Jumanji's Sokoban with the levels of `levels`."""
    require("jumanji")
    import jax.numpy as jnp
    from jumanji.environments.routing.sokoban import env, generator

    # Its own constructor downloads them.
    level_generator = object.__new__(generator.HuggingFaceDeepMindGenerator)
    level_generator._fixed_grids = jnp.asarray(levels()[..., 0], jnp.uint8)
    level_generator._variable_grids = jnp.asarray(levels()[..., 1], jnp.uint8)
    return _jumanji_scan(env.Sokoban(generator=level_generator), num_envs)


def _jumanji_scan(game: Any, num_envs: int) -> Work:
    import jax
    from jumanji.wrappers import VmapAutoResetWrapper

    env = VmapAutoResetWrapper(game)
    state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), num_envs))

    def one(state: Any, actions: Any) -> tuple[Any, Any]:
        state, timestep = env.step(state, actions)
        return state, timestep.reward

    return _scan(one, state, draw_actions(env.action_spec, JUMANJI_STEPS, num_envs))


def _scan(one: Callable[..., Any], carry: Any, plan: NDArray[Any]) -> Work:
    import jax

    scan = jax.jit(lambda carry, plan: jax.lax.scan(one, carry, plan))
    actions = jax.numpy.asarray(plan)

    def work() -> None:
        nonlocal carry
        carry, results = scan(carry, actions)
        jax.block_until_ready((carry, results))

    # XLA compiles twice: the types of the first state differ from those of others.
    work()
    return work, plan.shape[0] * plan.shape[1]


@cache
def levels() -> NDArray[np.uint8]:
    """Return the levels that all sides play, (n, 10, 10, 2) uint8, in Boxoban's form.

    EnvPool's wheel has 1,000 of Boxoban; without it they are rooms of roll_vec.
    """
    spec = importlib.util.find_spec("envpool")
    if spec and spec.origin:
        path = Path(spec.origin).parent / "jumanji/assets/boxoban/unfiltered-test.npy"
        if path.exists():
            return np.asarray(np.load(path), np.uint8)
    from roll_vec.envs.sokoban import Sokoban
    from roll_vec.envs.sokoban.rooms import draw_rooms

    rooms = Sokoban(dim_room=(SIZE, SIZE), num_boxes=NUM_BOXES)
    grids, statuses = draw_rooms(rooms, np.arange(300, dtype=np.uint64))
    # Boxoban has no room with a box on a target.
    is_new = ~(grids == CODES[TARGET, BOX]).any(axis=(1, 2))
    return to_boxoban(grids[(statuses == 0) & is_new])


def to_boxoban(grids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return grids in roll_vec's codes in Boxoban's form."""
    table = np.full((7, 2), (WALL, NOTHING), np.uint8)
    table[CODES[CODES > 0]] = np.argwhere(CODES)
    return table[grids]


def pufferlib_steps(num_envs: int, checkout: str, limit: int) -> Work:
    """Step PufferLib's Boxoban in C, compiled from a checkout.

    It has four one-hot planes, edited in place, and a level that is drawn by chance
    within the step that ends an episode; no infos, seeds, last observations and
    truncations.
    """
    if not checkout:
        pytest.skip("no checkout of PufferLib 4: --pufferlib PATH")
    library = _compile(Path(checkout))
    library.make.restype = ctypes.c_void_p
    observations = np.zeros((num_envs, 4, SIZE, SIZE), np.uint8)
    rewards, terminals = np.zeros((2, num_envs), np.float32)
    actions = np.zeros(num_envs, np.float32)
    # The library writes into these arrays, which must live as long as the work.
    arrays = observations, actions, rewards, terminals
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    envs = ctypes.c_void_p(library.make(num_envs, limit, *addresses))
    shape = max(8192 // num_envs, 8), num_envs
    plan = np.random.default_rng(0).integers(1, 5, shape).astype(np.float32)

    def work() -> None:
        for row in plan:
            arrays[1][:] = row
            library.step(envs, num_envs)

    return work, plan.size


@cache
def _compile(checkout: Path) -> ctypes.CDLL:
    """Return the library, whose batches play `levels`."""
    headers = sorted(checkout.glob("**/ocean/boxoban/boxoban.h"))
    if not headers:
        pytest.skip(f"no ocean/boxoban/boxoban.h in {checkout}")
    sources, folder = Path(__file__).with_name("boxoban"), Path(tempfile.mkdtemp())
    target, maps = folder / "boxoban.so", folder / "maps.bin"
    command = ["gcc", "-O3", "-march=native", "-w", "-shared", "-fPIC"]
    command += [f"-I{sources}", f"-I{headers[0].parent}", str(sources / "batch.c")]
    subprocess.run([*command, "-o", str(target)], check=True)
    maps.write_bytes(encode(levels()).tobytes())
    # Its C reads this variable.
    os.environ["BOXOBAN_MAP_BIN"] = str(maps)
    return ctypes.CDLL(str(target))


def encode(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return levels as PufferLib's Boxoban reads them, (n, 405) uint8.

    Planes of the player, walls, boxes and targets; then the player's column and row,
    the numbers of boxes, of targets, and of boxes on targets.
    """
    fixed, movable = levels[..., 0], levels[..., 1]
    planes = np.stack(
        [movable == PLAYER, fixed == WALL, movable == BOX, fixed == TARGET], axis=1
    )
    cells = planes.reshape(len(levels), 4, -1).astype(np.uint8)
    rows, columns = np.divmod(cells[:, 0].argmax(axis=1), SIZE)
    on_targets = (cells[:, 2] & cells[:, 3]).sum(axis=1)
    counts = [cells[:, 2].sum(axis=1), cells[:, 3].sum(axis=1), on_targets]
    meta = np.stack([columns, rows, *counts], axis=1).astype(np.uint8)
    return np.concatenate([cells.reshape(len(levels), -1), meta], axis=1)
