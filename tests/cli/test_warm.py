"""`roll-vec warm`: nothing is left to compile."""

import re

import pytest
from gymnasium.vector import AutoresetMode
from numba.core import event

import roll_vec
from tests.conftest import JIT_OFF

LAKE = "roll_vec/FrozenLake-v1"


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled with the JIT off")
def test_after_it_a_batch_compiles_nothing(works):
    first, last = works("warm", LAKE).out.splitlines()
    assert re.fullmatch(r"compiling the kernels of 1 environment in \d+ proc\w+", first)
    assert re.fullmatch(r"\d+ kernels? compiled in \d+ s; \d+ in .*", last)
    with event.install_recorder("numba:compile") as recorder:
        for mode in AutoresetMode:
            envs = roll_vec.make_vec(LAKE, 16, autoreset_mode=mode)
            envs.reset(seed=0)
            envs.step(envs.action_space.sample())
            if mode is not AutoresetMode.DISABLED:
                envs.unroll([envs.action_space.sample()] * 40)
            envs.close()
    assert recorder.buffer == []


@pytest.mark.skipif(not JIT_OFF, reason="the error of a process with the JIT off")
def test_without_the_jit_it_is_refused(fails):
    assert "got NUMBA_DISABLE_JIT=1" in fails("warm")
