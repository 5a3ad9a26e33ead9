"""BabyAI's levels beside MiniGrid's own, played by MiniGrid's bot.

With random actions between its own, the bot does what missions ask for: clauses are
done one after the other, doors are opened and objects are moved.
"""

import contextlib
import io

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.minigrid import babyai_goto, babyai_instructions, babyai_pickup
from roll_vec.errors import InvalidOptionError
from roll_vec.registration.minigrid_ids import IDS
from tests.conftest import JIT_OFF

BABYAI = [id for id, *_ in IDS if id.startswith("BabyAI-")]
# With their seeds: "after you" in the first mission, a carried object, failures, a
# grey object, which walls are as well, and a locked room.
QUICK = {
    "BabyAI-MiniBossLevel-v0": 1,
    "BabyAI-PutNextS5N2Carrying-v0": 0,
    "BabyAI-OpenDoorsOrderN2Debug-v0": 0,
    "BabyAI-PickupDistDebug-v0": 7,
    "BabyAI-UnlockToUnlock-v0": 0,
}
# As plain Python they compile nothing.
FAST = QUICK if JIT_OFF else ()
each_id = pytest.mark.parametrize(
    "id",
    [pytest.param(id, marks=() if id in FAST else pytest.mark.slow) for id in BABYAI],
)
# Left, right, forward, pickup, drop, toggle and done.
WEIGHTS = np.array([2, 2, 6, 2, 1, 3, 0.2]) / 16.2
NOISE = 0.0, 0.1, 0.3
MAX_STEPS = 150


@pytest.fixture(scope="module")
def bot():
    reason = "needs the extra originals, with Python 3.11 or newer"
    return pytest.importorskip("minigrid.utils.baby_ai_bot", reason=reason).BabyAIBot


def codes_of(env):
    """Return what MiniGrid's grid has in each cell, as the lowest 9 bits of a code."""
    kinds, colours, states = np.moveaxis(env.grid.encode().astype(int), -1, 0)
    return np.where(kinds == 1, 0, kinds + 16 * colours + 128 * states)


def play_bot(bot, id, episodes, seed):
    """Compare an id with MiniGrid's, step by step, and return the ends."""
    theirs = gymnasium.make(id, disable_env_checker=True)
    ours = gymnasium.make(f"roll_vec/{id}")
    rng = np.random.default_rng(seed)
    ends = []
    for episode in range(episodes):
        # One stream of random numbers for all episodes.
        seeds = {"seed": seed} if episode == 0 else {}
        expected, _ = theirs.reset(**seeds)
        observation, _ = ours.reset(**seeds)
        player, action, end = bot(theirs), None, None
        original = theirs.unwrapped
        assert ours.unwrapped.limit == original.max_steps
        for _ in range(MAX_STEPS):
            np.testing.assert_array_equal(observation["image"], expected["image"])
            assert observation["mission"] == expected["mission"]
            assert observation["direction"] == expected["direction"]
            np.testing.assert_array_equal(ours.unwrapped.grid & 511, codes_of(original))
            # The bot loses its way where noise has opened a box.
            with contextlib.suppress(Exception):
                action = player.replan(action)
            if action is None or rng.random() < NOISE[episode % len(NOISE)]:
                action = original.actions(int(rng.choice(7, p=WEIGHTS)))
            expected, *results, _ = theirs.step(action)
            observation, *ours_results, _ = ours.step(int(action))
            assert ours_results == results
            reward, *end = results
            if any(end):
                break
        ends.append("success" if reward > 0 else "failure" if end[0] else "limit")
    return ends


@each_id
def test_the_bot_plays_minigrids_levels(id, bot):
    with contextlib.redirect_stdout(io.StringIO()):  # rejections of levels
        ends = play_bot(bot, id, 6 if id in QUICK else 12, QUICK.get(id, 0))
    # The bot opens no boxes, and one mission of two doors cannot be done.
    if id not in ("BabyAI-KeyInBox-v0", "BabyAI-OpenDoorsOrderN2Debug-v0"):
        assert "success" in ends
    if id == "BabyAI-OpenDoorsOrderN2Debug-v0":
        assert "failure" in ends


def write(words):
    """Return the text of an instruction, of its first words."""
    padding = [0] * (babyai_instructions.NUM_WORDS - len(words))
    return babyai_instructions.write_instruction([*words, *padding])


def test_texts_name_colours_places_and_order():
    one = [babyai_instructions.GO_TO, 6, 1, 0, 0, 0, 0, 0, 0]
    two = [babyai_instructions.PUT_NEXT, 5, 0, 1, 1, 4, 6, 4, 0]
    any_type = [babyai_instructions.PICK_UP, 0, 6, 0, 1, 0, 0, 0, 0]
    none = [0] * 9
    assert write([0, *one]) == "go to the red ball"
    first = "put a key on your left next to the grey door behind you"
    assert write([0, *two]) == first
    assert write([1, *one, *none, *any_type]) == (
        "go to the red ball, then pick up a grey object"
    )
    assert write([2, *two, *one, *any_type, *one]) == (
        f"{first} and go to the red ball after you pick up a grey object and go to the "
        "red ball"
    )


@pytest.mark.parametrize(
    ("id", "keywords", "message"),
    [
        ("GoTo", {"num_dists": 0}, "num_dists: expected at least 1, got 0"),
        ("OpenDoor", {"num_rows": 2}, "num_rows: expected at least 3, got 2"),
        ("OpenDoor", {"select_by": "x"}, "select_by: expected one of None, 'color'"),
        ("OpenTwoDoors", {"first_color": "pink"}, "first_color: expected one of None"),
        ("BossLevel", {"action_kinds": ("go",)}, "action_kinds: expected one of"),
        ("BossLevel", {"instr_kinds": ()}, "instr_kinds: expected one of"),
        ("BossLevel", {"locked_room_prob": 2.0}, "locked_room_prob: expected"),
        ("PutNextLocal", {"num_objs": 19}, "num_objs: expected"),
        ("PutNextS5N2", {"objs_per_room": 10}, "objs_per_room: expected"),
        ("Unlock", {"num_rows": 1, "num_cols": 1}, "num_cols: expected at least 2 wh"),
        ("FindObjS5", {"num_rows": 4}, "num_cols: expected num_rows, 4, got 3"),
    ],
)
def test_keywords_without_levels_are_refused(id, keywords, message):
    with pytest.raises(InvalidOptionError, match=message):
        gymnasium.make(f"roll_vec/BabyAI-{id}-v0", **keywords)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "wrapper"),
    [("one_hot", "OneHotPartialObsWrapper"), ("flat", "FlatObsWrapper")],
)
def test_first_observations_of_carried_objects(bot, mode, wrapper):
    from minigrid import wrappers

    id = "BabyAI-PutNextS5N2Carrying-v0"
    theirs = getattr(wrappers, wrapper)(gymnasium.make(id, disable_env_checker=True))
    ours = gymnasium.make(f"roll_vec/{id}", obs_mode=mode)
    for seed in range(12):
        for expected, result in (
            (theirs.reset(seed=seed), ours.reset(seed=seed)),
            (theirs.step(0), ours.step(0)),
        ):
            arrays = [each[0] for each in (expected, result)]
            if mode == "one_hot":
                arrays = [each["image"] for each in arrays]
            np.testing.assert_array_equal(*arrays)


@pytest.mark.slow
def test_levels_that_cannot_be_drawn_are_errors():
    id = "roll_vec/BabyAI-MiniBossLevel-v0"
    env = gymnasium.make(id, num_dists=62, room_size=10)
    with pytest.raises(RuntimeError, match="more than 62 doors and objects"):
        env.reset(seed=0)
    env = gymnasium.make(id, num_dists=50)
    with pytest.raises(RuntimeError, match="no level was accepted"):
        env.reset(seed=0)


@pytest.mark.slow
def test_instructions_of_one_kind_are_drawn():
    keywords = {"action_kinds": ("open",), "instr_kinds": ("seq",)}
    env = gymnasium.make("roll_vec/BabyAI-MiniBossLevel-v0", **keywords)
    for seed in range(5):
        mission = env.reset(seed=seed)[0]["mission"]
        assert mission.startswith("open ")
        assert ", then open " in mission or " after you open " in mission


def key_of(options):
    """Return what compiled code depends on."""
    return options.code.digest, options.declaration


def test_levels_that_differ_in_numbers_share_compiled_code():
    # GoToLocal makes an option of GoTo a constant: the names come in another order.
    maze = key_of(babyai_goto.GoTo(room_size=5))
    assert key_of(babyai_goto.GoToLocal(num_dists=2)) == maze
    assert key_of(babyai_pickup.UnblockPickup()) == maze
    assert key_of(babyai_goto.GoToDoor()) != maze
