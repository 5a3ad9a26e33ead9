"""docs/examples/grpo.py: valid answers become likely; a checkpoint continues that."""

import re

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.learning

COUNTDOWN = ["--families", "Countdown", "--max-turns=1", "--learning-rate=0.005"]


@pytest.fixture
def grpo(example):
    return example("grpo")


def test_cached_logits_equal_those_of_the_whole_text(grpo):
    model = grpo.TransformerPolicy(seed=0).model
    rng = torch.Generator().manual_seed(1)
    codes = torch.randint(0, grpo.OTHER + 1, (3, 12), generator=rng)
    with torch.no_grad():
        whole, _ = model(codes)
        start, caches = model(codes[:, :9])
        torch.testing.assert_close(start, whole[:, :9])
        for i in range(9, 12):
            logits, caches = model(codes[:, i : i + 1], caches)
            torch.testing.assert_close(logits[:, 0], whole[:, i])


def test_an_update_moves_answers_by_their_advantages(grpo):
    conversations = grpo.ConversationRounds(["Countdown"], 1, 2, max_turns=1, workers=0)
    conversations.start_round()
    policy = grpo.TransformerPolicy(seed=0, learning_rate=0.01)
    conversations.play(policy, in_lockstep=True)
    ((env_ids, codes, old),) = policy.turns
    assert env_ids.tolist() == [0, 1]
    policy.update(conversations.conversations, np.array([1.0, -1.0]))
    assert policy.turns == []
    with torch.no_grad():
        logits, _ = policy.model(codes[:, :-1])
    log_p = logits[:, grpo.PROMPT_LENGTH - 1 :].log_softmax(-1)
    new = log_p.gather(2, codes[:, grpo.PROMPT_LENGTH :, None])[..., 0]
    gains = (new - old).sum(1)
    assert gains[0] > 0 > gains[1]


def test_valid_answers_become_likely(grpo, capsys):
    policy = grpo.main([*COUNTDOWN, "--updates=12", "--groups=24"])
    row = re.search(r"Countdown +([\d.]+)% +([\d.]+)%", capsys.readouterr().out)
    assert float(row[1]) < 5
    assert float(row[2]) > 50
    assert policy.turns == []


def test_a_checkpoint_continues_bit_for_bit(grpo, tmp_path, capsys):
    arguments = [*COUNTDOWN, "--groups=2", "--seed=3"]
    whole = grpo.main([*arguments, "--updates=4"])
    table = capsys.readouterr().out.splitlines()[:2]
    file = tmp_path / "checkpoint.pt"
    grpo.main([*arguments, "--updates=2", f"--checkpoint={file}"])
    picture = tmp_path / "curve.png"
    later = grpo.main(
        [*arguments, "--updates=4", f"--resume={file}", f"--picture={picture}"]
    )
    assert picture.stat().st_size > 1000
    with pytest.raises(ValueError, match=r"is a checkpoint of .*'seed': 3.*'seed': 0"):
        grpo.main([*COUNTDOWN, "--groups=2", f"--resume={file}"])
    assert capsys.readouterr().out.splitlines()[-3:-1] == table
    expected = whole.model.state_dict()
    for name, tensor in later.model.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    assert torch.equal(later.rng.get_state(), whole.rng.get_state())
