"""The parts of OpenEnv that the adapter extends, without pydantic and FastAPI.

The real package takes a minute to install.  `make test-adapters` runs the adapter with
it; `replay` handles messages as its server does.
"""

import sys
from types import ModuleType, SimpleNamespace


class Model:
    """Fields with defaults, as a pydantic model that forbids others."""

    metadata = None

    def __init__(self, **values):
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        assert values.keys() <= set(names)
        vars(self).update({name: getattr(self, name) for name in names}, **values)
        self.metadata = self.metadata or {}


class Action(Model):
    pass


class Observation(Model):
    done = False
    reward = None


class State(SimpleNamespace):
    def __init__(self, **values):
        super().__init__(**{"episode_id": None, "step_count": 0, **values})


class Environment:
    pass


class EnvClient:
    pass


def create_app(env, action_cls, observation_cls, **options):
    return SimpleNamespace(
        state=SimpleNamespace(), env=env, action_cls=action_cls, options=options
    )


def install(monkeypatch):
    """Put the stub in the place of the package, for one test."""
    modules = {
        "openenv": {},
        "openenv.core": {"EnvClient": EnvClient},
        "openenv.core.client_types": {"StepResult": SimpleNamespace},
        "openenv.core.env_server": {
            "http_server": SimpleNamespace(create_app=create_app)
        },
        "openenv.core.env_server.interfaces": {"Environment": Environment},
        "openenv.core.env_server.types": {
            "Action": Action,
            "Observation": Observation,
            "State": State,
        },
    }
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "roll_vec.adapters.openenv", raising=False)


async def reply(environment, action_cls, message):
    """Return the reply of OpenEnv's server to a message of a connection."""
    data = message.get("data", {})
    try:
        if message["type"] == "state":
            return {"type": "state", "data": vars(environment.state).copy()}
        if message["type"] == "reset":
            result = await environment.reset_async(**data)
        else:
            result = await environment.step_async(action_cls(**data))
    except Exception as error:
        code = {"message": str(error), "code": "EXECUTION_ERROR"}
        return {"type": "error", "data": code}
    fields = vars(result).copy()
    reward, done = fields.pop("reward"), fields.pop("done")
    data = {"observation": fields, "reward": reward, "done": done}
    return {"type": "observation", "data": data}
