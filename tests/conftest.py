"""The same run each time, and as long as it takes: fixed examples, fixed orders, and no test that is over when the machine is busy."""
from __future__ import annotations

import random

import pytest
import trio
from hypothesis import HealthCheck, register_random, settings

# Examples are those of the test, not of the day (`--hypothesis-profile default --hypothesis-seed N` draws others), and none is too slow.
settings.register_profile("slotwise", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("slotwise")

ORDER: random.Random = trio._core._run._r    # trio wakes tasks in a random order
register_random(ORDER)


@pytest.fixture(autouse=True)
def one_order() -> None:
    ORDER.seed(0)
