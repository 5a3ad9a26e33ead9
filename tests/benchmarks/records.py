"""Records of contenders, for tests of results."""


def record(name, *values, **more):
    """Return a contender's record as it stands in a result."""
    return {
        "name": name,
        "engine": "roll_vec",
        "peer": "",
        "version": None,
        "cores": 2,
        "processes": 1,
        "unit": "steps/s",
        "facts": {"batch": 64, "levels": "some", "observation": "grid"},
        "values": list(values),
        **more,
    }
