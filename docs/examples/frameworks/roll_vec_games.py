"""verifiers: a taskset and an environment of every id of roll_vec."""

import itertools

import gymnasium
import verifiers.v1 as vf

from roll_vec.trajectories import to_content


class GamesConfig(vf.TasksetConfig):
    """The id, the keywords of `gymnasium.make`, and the first seed."""

    game: str = "roll_vec/Sokoban-v0"
    keywords: dict = {"obs_mode": "text", "action_mode": "text"}
    first_seed: int = 0


class GameData(vf.TaskData):
    """A level."""

    game: str
    keywords: dict
    seed: int


class GameTask(vf.Task[GameData]):
    """The environment keeps the score."""


class GamesEnvConfig(vf.EnvConfig):
    """The agent."""

    player: vf.AgentConfig = vf.AgentConfig()


class GamesEnv(vf.Env[GamesEnvConfig]):
    """Play an episode with the agent."""

    async def run(self, task, agents):
        env = gymnasium.make(task.data.game, **task.data.keywords)
        env.reset(seed=task.data.seed)  # its first observation is the prompt
        total, info, ends = 0.0, {}, (False, False)
        async with agents.player.interaction(task) as interaction:
            message = None
            while not (segment := await interaction.turn(message)).terminated:
                observation, reward, *ends, info = env.step(segment.last_reply or "")
                total += float(reward)
                if any(ends):
                    break
                message = [vf.UserMessage(content=to_content(observation))]
        interaction.trace.record_reward("return", total)
        interaction.trace.record_metric("success", float(info.get("success", False)))
        interaction.trace.record_metric("truncated", float(ends[1]))


class GamesTaskset(vf.Taskset[GameTask, GamesConfig]):
    """A task for each seed, without an end."""

    INFINITE = True

    def load(self):
        game, keywords = self.config.game, self.config.keywords
        env = gymnasium.make(game, **keywords)
        for seed in itertools.count(self.config.first_seed):
            observation, info = env.reset(seed=seed)
            content = to_content(info["env_instruction"], observation)
            prompt = [vf.UserMessage(content=content)]
            facts = {"game": game, "keywords": keywords, "seed": seed, "prompt": prompt}
            yield GameTask(GameData(name=f"{game}#{seed}", **facts), self.config.task)


__all__ = ["GamesEnv", "GamesTaskset"]


def main():
    """Print a prompt, and the parts of one with a picture."""
    config = GamesConfig(id="roll_vec_games", game="roll_vec/Countdown-v0", keywords={})
    print(next(iter(GamesTaskset(config).load())).data.prompt[0].content)
    pictures = {"obs_mode": "rgb", "action_mode": "text"}
    config = GamesConfig(id="roll_vec_games", keywords=pictures)
    (message,) = next(iter(GamesTaskset(config).load())).data.prompt
    print([part.type for part in message.content])


if __name__ == "__main__":
    main()
