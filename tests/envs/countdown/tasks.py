"""A helper of Countdown's tests: the tasks of some seeds."""


def list_tasks(env, seeds):
    """Return the numbers and the target of each seed."""
    tasks = []
    for seed in seeds:
        env.reset(seed=seed)
        tasks.append((env.nums, env.target))
    return tasks
