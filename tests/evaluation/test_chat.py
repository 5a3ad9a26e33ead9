"""Episodes by a chat: against a local stand-in for a language model."""

import importlib.util
import json
import re
import signal
import threading
import time
from contextlib import suppress

import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import ChatEndpoint, find_split, play_chat, play_episodes
from roll_vec.evaluation.chat import ChatError, chat_keywords, play_chat_episodes
from roll_vec.evaluation.splits import Split
from roll_vec.trajectories import to_messages
from tests.evaluation.chat_server import ChatServer, Reply

# Workers of xdist that run none of these tests save its import: half a second.
if importlib.util.find_spec("openai") is None:
    pytest.skip("needs openai", allow_module_level=True)

KEY = "sk-secret-0123"
LAKE = find_split("roll_vec/FrozenLake-v1", "test")
COUNTDOWN = find_split("roll_vec/Countdown-v0", "test")
AT_ONCE = {"retry-after-ms": "1"}
NUM = 6


class Words(roll_vec.BaseLanguageBasedEnv):
    """A conversation of 1 to 3 turns about a number; the seed decides how many."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turn, self.level = 0, self.level_seed
        if self.level == 150:
            raise RuntimeError("out of ink")
        return f"{self.level}: 0", {}

    def step(self, action):
        if action == "break":
            raise RuntimeError("out of paper")
        self.turn += 1
        is_right = action == f"{self.level + self.turn}"
        # An error of the task is no fault.
        error = "" if is_right else "wrong"
        info = {"success": is_right, "answer": action, "error": error}
        is_over = self.turn > self.level % 3
        return f"{self.level}: {self.turn}", float(is_right), is_over, False, info

    def get_instructions(self):
        return "Add one each time."


@pytest.fixture(scope="module")
def words(module_forgets_ids):
    """Return a split of short conversations."""
    id = "evaluation-test/Words-v0"
    roll_vec.register(id, Words)
    return Split(id, "test", "", lambda: range(100, 200), "")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # No proxy stands between this process and itself.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def make(split, num_envs):
    own = {} if split is LAKE else {"action_pattern": None}
    return split.make_vec(num_envs, **chat_keywords(split, own))


def level_of(request):
    """Return the level of a conversation, and its turn."""
    return [int(part) for part in request["messages"][-1]["content"].split(":")]


def add(request, _):
    """Return a right answer, and a wrong one in the second turn."""
    level, turn = level_of(request)
    return Reply(f"{level + turn + 1}" if turn != 1 else "no")


def play_seeds(split, seeds, reply=add, num_envs=1, **keywords):
    """Return the trajectories of some seeds, and the server."""
    with ChatServer(reply) as server:
        endpoint = ChatEndpoint(server.url, "m", **keywords)
        return list(play_chat(make(split, num_envs), seeds, endpoint)), server


def records_of(split, reply=add, num_envs=4, *, retries=2, **keywords):
    """Return the records by number, and the server."""
    with ChatServer(reply) as server:
        episodes = keywords.pop("episodes", range(NUM))
        options = {"retries": retries, "timeout": 5, **keywords}
        endpoint = ChatEndpoint(server.url, "m", **options)
        envs = make(split, num_envs)
        try:
            played = play_chat_episodes(split, envs, endpoint, episodes)
            records = {record.episode: record for record in played}
        finally:
            assert envs.closed
            assert not [each for each in threading.enumerate() if "chat" in each.name]
    return records, server


@pytest.fixture(scope="module")
def expected(words):
    """Return the records of the same answers, given by a policy in a batch."""

    def scripted(turn):
        requests = [{"messages": [{"content": text}]} for text in turn.observations]
        return [add(request, 0).content for request in requests]

    envs = make(words, 5)
    played = play_episodes(words, envs, scripted, range(NUM))
    records = {record.episode: record for record in played}
    envs.close()
    assert [records[i].length for i in range(NUM)] == [2, 3, 1, 2, 3, 1]
    assert [records[i].total_reward for i in range(NUM)] == [1, 2, 1, 1, 2, 1]
    assert [records[i].success for i in range(NUM)] == [False, True, True] * 2
    return records


def test_records_are_those_of_the_same_answers_in_a_batch(words, expected):
    for num_envs in (1, 20):
        records, server = records_of(words, num_envs=num_envs)
        assert records == expected
        assert len(server.requests) == sum(each.length for each in records.values())


def test_answers_out_of_order_change_nothing_and_hold_up_nobody(words, expected):
    others_are_over = threading.Event()

    def reply(request, count):
        level, _ = level_of(request)
        if level == 100:
            # Its first answer comes when all others are over.
            others_are_over.wait(60)
        answer = add(request, count)
        answer.seconds = level * 7 % 3 * 0.01
        return answer

    with ChatServer(reply) as server:
        endpoint, records = ChatEndpoint(server.url, "m"), {}
        for record in play_chat_episodes(words, make(words, 3), endpoint, range(NUM)):
            records[record.episode] = record
            if len(records) == NUM - 1:
                assert 0 not in records
                others_are_over.set()
    assert records == expected
    # The one that waits, and another.
    assert 2 <= server.max_open <= 3


def test_grids_are_played():
    moves = ("I go. <answer>Right</answer>", "<answer>Down</answer>", "jump")

    def scripted(turn):
        return [moves[step % 3] for step in turn.steps]

    def reply(request, _):
        turn = sum(each["role"] == "assistant" for each in request["messages"])
        return Reply(moves[turn % 3])

    batch = make(LAKE, 2)
    expected = list(play_episodes(LAKE, batch, scripted, [3]))  # a short one
    with ChatServer(reply) as server:
        endpoint = ChatEndpoint(server.url, "m")
        assert [*play_chat_episodes(LAKE, make(LAKE, 2), endpoint, [3])] == expected
    messages = server.requests[0]["messages"]
    assert "Answer with one action, in this form: <answer>" in messages[0]["content"]
    assert messages[1]["content"].startswith("P___")


def test_trajectories_are_in_order_and_are_the_messages(words):
    seeds = words.seeds[:NUM]
    trajectories, server = play_seeds(words, seeds, num_envs=4)
    assert [each.seed for each in trajectories] == list(seeds)
    messages = to_messages(trajectories[1])
    assert [each["content"] for each in messages] == [
        "Add one each time.",
        *("101: 0", "102", "101: 1", "no", "101: 2", "104"),
    ]
    assert [each["role"] for each in messages[:3]] == ["system", "user", "assistant"]
    requests = [request["messages"] for request in server.requests]
    for end in (2, 4, 6):
        assert messages[:end] in requests
    assert trajectories[1].infos[2]["answer"] == "no"
    for each in trajectories:
        assert len(each.observations) == len(each.infos) == each.num_steps + 1
        assert len(each.rewards) == each.num_steps


def test_messages_have_the_instruction_and_the_last_turns(words, monkeypatch):
    for history, longest in ((0, 1), (1, 3), (None, 5)):
        _, server = records_of(words, history=history, episodes=[1])
        lengths = [len(request["messages"]) - 1 for request in server.requests]
        assert max(lengths) == longest
        for request in server.requests:
            roles = [each["role"] for each in request["messages"]]
            assert roles == ["system", *["user", "assistant"] * 9][: len(roles)]
            assert roles[-1] == "user"
    for instruction in ("", None):
        monkeypatch.setattr(Words, "get_instructions", lambda _, it=instruction: it)
        (trajectory,), server = play_seeds(words, [102])
        for messages in (server.requests[0]["messages"], to_messages(trajectory)):
            assert messages[0]["role"] == "user"


def test_the_memory_holds_a_bounded_number_of_episodes(words):
    with ChatServer(add) as server:
        endpoint, envs = ChatEndpoint(server.url, "m"), make(words, 1)
        trajectories = play_chat(envs, words.seeds, endpoint)
        next(trajectories)
        # Nobody takes more: the next conversation waits.
        time.sleep(0.1)
        assert [level_of(request)[0] for request in server.requests] == [100, 100]
        next(trajectories)
        # The others are of no interest.
        trajectories.close()
        assert envs.closed
        assert len(server.requests) < len(words)


def test_requests_have_the_arguments_and_the_key_and_no_record_has_it(words):
    with ChatServer(lambda *_: Reply("1 + 1")) as server:
        endpoint = ChatEndpoint(server.url, "m", temperature=0.5, max_tokens=9)
        envs = COUNTDOWN.make_vec(1, **chat_keywords(COUNTDOWN, {}))
        list(play_chat(envs, [3], endpoint))
    (request,) = server.requests
    messages = request["messages"]
    arguments = {"model": "m", "temperature": 0.5, "max_tokens": 9}
    assert request == {**arguments, "messages": messages}
    assert messages[0]["content"].endswith("form: <answer>1 + 2 + 3</answer>")
    assert server.keys == {f"Bearer {KEY}"}
    facts = {"name": server.url, **arguments, "history": None}
    assert endpoint.to_json() == facts
    bad = Reply(status=400, body=error_body(f"the key {KEY} is bad"))
    records, _ = records_of(words, lambda *_: bad, episodes=[0])
    assert "key *** is bad" in records[0].fault


@pytest.mark.parametrize("history", [None, 0])
def test_a_model_without_a_system_role_has_the_instruction_before_the_rest(
    words, history
):
    def reply(request, count):
        roles = [each["role"] for each in request["messages"]]
        assert roles == ["user", "assistant", "user", "assistant", "user"][: len(roles)]
        text = request["messages"][0]["content"]
        assert text.startswith("Add one each time.\n\n101: ")
        return Reply("no")

    with ChatServer(reply) as server:
        options = {"instruction_role": "user", "history": history}
        endpoint = ChatEndpoint(server.url, "m", **options)
        (trajectory,) = play_chat(make(words, 1), [101], endpoint)
    assert (trajectory.fault, trajectory.num_steps) == (None, 3)
    assert endpoint.to_json()["instruction_role"] == "user"


def test_a_blank_stands_for_an_empty_message(words):
    # No answer is the empty text; half a surrogate pair is a question mark.
    for content, action, sent in (("", "", " "), (None, "", " "), ("\ud83d", "?", "?")):

        def reply(request, _, content=content):
            empty = [each for each in request["messages"] if not each["content"]]
            return Reply(status=400) if empty else Reply(content)

        (trajectory,), server = play_seeds(words, [101], reply)
        assert (trajectory.fault, trajectory.actions) == (None, [action] * 3)
        assert server.requests[1]["messages"][2]["content"] == sent


def test_keys(words, monkeypatch):
    for key, sent in (("", "none"), (f" {KEY}\n", KEY)):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert records_of(words, episodes=[2])[1].keys == {f"Bearer {sent}"}
    # No request can have these.
    for end in ("\u00e9", "\nX-Other: 1"):
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}{end}")
        with pytest.raises(InvalidOptionError, match="printable ASCII") as caught:
            play_chat(make(words, 1), [102], ChatEndpoint("http://127.0.0.1:9", "m"))
        assert KEY not in str(caught.value)


def error_body(message):
    return json.dumps({"error": {"message": message}}).encode()


BAD_ENDPOINTS = [
    *({"url": url} for url in ("localhost:8000", "ftp://host/v1", "http://", None)),
    *({"url": f"http://host:{port}/v1"} for port in ("x", "0")),
    *(
        {"url": f"http://{end}"}
        for end in ("a:hunter2@h", "h?hunter2", "h#hunter2", "[a:hunter2@")
    ),
    *({"model": ""}, {"temperature": -1}, {"temperature": float("nan")}),
    *({"max_tokens": 0}, {"timeout": 0}, {"retries": -1}),
    {"history": -1},
    *({"instruction_role": "developer"}, {"extra_body": "top_p"}),
    *({"extra_body": {key: 1}} for key in (1, "stream", "messages")),
    {"extra_body": {"top_p": float("nan")}},
    {"extra_body": {"stop": "\ud83d"}},
]


@pytest.mark.parametrize("bad", BAD_ENDPOINTS, ids=str)
def test_bad_endpoints_are_errors_that_tell_no_secret(bad):
    (name,) = bad
    arguments = {"url": "http://127.0.0.1:9/v1", "model": "m", **bad}
    with pytest.raises(InvalidOptionError, match=f"^{name}: expected") as caught:
        ChatEndpoint(**arguments)
    assert "hunter2" not in str(caught.value)


def test_keywords_of_a_chat_are_those_of_a_user_and_texts_with_an_answer_in_them():
    tags = "<answer>(.*?)</answer>"
    texts = {"obs_mode": "text", "action_mode": "text", "action_pattern": tags}
    assert chat_keywords(LAKE, {}) == texts
    own = {"action_pattern": "<a>(.*?)</a>"}
    assert chat_keywords(LAKE, own) == {**texts, **own}
    endpoint = ChatEndpoint("http://127.0.0.1:9/v1", "m")
    with pytest.raises(InvalidOptionError, match=r"^envs: expected .* of texts"):
        play_chat(LAKE.make_vec(1), [0], endpoint)


FAILURES = {
    "status": (Reply(status=500, body=b"{}", headers=AT_ONCE), "Error code: 500"),
    "request": (Reply(status=400, body=error_body("too long")), "400 - .*too long"),
    "page": (Reply(status=400, body=error_body("x" * 9999)), r"400 .*x{200,299}\.{3}$"),
    "broken": (Reply(body=b'{"choices": ['), "no chat completion"),
    "text": (Reply(body=b"<html>", headers={"Content-Type": "text/html"}), "no chat"),
    "empty": (Reply(body=b'{"choices": []}'), r'no chat .*: {"choices":\[\]}'),
    "message": (Reply(body=b'{"choices": [{"error": "cut"}]}'), "no chat .*cut"),
    "content": (Reply(message={"content": [1]}), "no chat completion"),
}


def test_a_request_is_repeated_and_ends_its_episode_alone(words, expected):
    # Of each three episodes the first has two turns, and its second request fails.
    failures = dict(zip(range(0, 99, 3), FAILURES.values(), strict=False))

    def reply(request, count):
        level, turn = level_of(request)
        number = level - 100
        if number in failures and turn == 1:
            return failures[number][0]
        if number == 2 and count < 2:
            return Reply(status=(429, 500)[count], body=b"{}", headers=AT_ONCE)
        return add(request, count)

    episodes = [*failures, 2]
    records, server = records_of(words, reply, retries=2, episodes=episodes)
    assert records.pop(2) == expected[2]
    levels = [level_of(request)[0] for request in server.requests]
    # Only a status such as 500 is worth another try.
    assert [levels.count(100 + number) for number in (2, 0, 3)] == [3, 4, 2]
    for number, (_, text) in failures.items():
        record = records.pop(number)
        assert re.search(text, record.fault), text
        assert (record.length, record.success, record.total_reward) == (1, False, 1)
        assert not record.terminated | record.truncated
    assert not records


def test_an_endpoint_that_does_not_answer_is_a_fault(words):
    # A busy machine keeps apart what ends after a second and after two.
    silent = {102: Reply(hangs=True), 105: Reply(drips=True)}
    trajectories, _ = play_seeds(
        words,
        [*silent],
        lambda request, _: silent[level_of(request)[0]],
        num_envs=2,
        timeout=1,
        retries=0,
    )
    nobody = ChatEndpoint("http://127.0.0.1:9/v1", "m", retries=0)
    trajectories += play_chat(make(words, 1), [102], nobody)
    for trajectory, fault in zip(
        trajectories,
        (
            "APITimeoutError: Request timed out",
            "TimeoutError: no complete response within 2 seconds",
            "APIConnectionError: Connection error.: All connection attempts fail",
        ),
        strict=True,
    ):
        assert trajectory.fault.startswith(fault)
        assert (trajectory.num_steps, trajectory.total_reward) == (0, 0.0)
        assert trajectory.success is False


@pytest.mark.parametrize("status", [401, 307])
def test_an_endpoint_that_refuses_ends_the_run(words, status):
    with ChatServer(add) as other:
        target = f"{other.url}/chat/completions"
        bad = Reply(None, status, error_body("no such"), {"Location": target})
        with pytest.raises(ChatError) as caught:
            records_of(words, lambda *_: bad)
        # Observations are sent to no other host.
        assert not other.requests
    assert "no such" in str(caught.value)


def test_an_interrupt_ends_all_conversations_at_once(words):
    interrupts = [signal.SIGINT]

    def reply(request, count):
        if level_of(request)[0] > 104:
            # Both conversations may be there: one of them interrupts.
            with suppress(IndexError):
                signal.raise_signal(interrupts.pop())
            return Reply(hangs=True)
        return add(request, count)

    with ChatServer(reply) as server:
        endpoint = ChatEndpoint(server.url, "m", timeout=1000)
        envs = make(words, 2)
        with pytest.raises(KeyboardInterrupt):
            list(play_chat(envs, words.seeds[:9], endpoint))
        assert envs.closed
        assert not [each for each in threading.enumerate() if "chat" in each.name]


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_of_an_environment_ends_its_episode_alone(words, expected, workers):
    def reply(request, count):
        is_last = level_of(request) == [101, 1]
        return Reply("break") if is_last else add(request, count)

    with ChatServer(reply) as server:
        envs = words.make_vec(2, workers=workers)
        endpoint = ChatEndpoint(server.url, "m")
        played = play_chat_episodes(words, envs, endpoint, range(NUM))
        records = {each.episode: each for each in played}
    assert "out of paper" in records[1].fault
    assert (records[1].length, records[1].truncated) == (2, True)
    assert {**records, 1: expected[1]} == expected


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_nobody_plays_an_episode_in_the_place_of_another(words, expected):
    records, server = records_of(words, num_envs=1, episodes=[50, 0])
    assert records[50].fault.startswith("the reset failed")
    assert (records[50].length, records[50].truncated) == (0, True)
    assert records[0] == expected[0]
    assert len(server.requests) == expected[0].length
