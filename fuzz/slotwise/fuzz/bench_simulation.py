"""What the native simulation of durable work costs, beside the pure one: events are commands, the credits and pumps among them."""
from __future__ import annotations

import msgspec

from slotwise.fuzz.bench import Figure, in_turns, native, plain
from slotwise.spec import batching_scenarios, batching_simulation
from slotwise.spec import batching_vocabulary as v

SCENARIOS = ("steps-200", "fan-out-200", "nested-waves", "F06")
ROUNDS = 20


def durable_work() -> list[Figure]:
    """From Python, a scenario in one call: it is read, played, and its log written."""
    figures, found, simulate = [], [batching_scenarios.find(name) for name in SCENARIOS], native().simulate_batching
    files = [batching_scenarios.encode(scenario) for scenario in found]
    for name, profile in v.PROFILES.items():
        events = sum(len(batching_simulation.simulate(profile, scenario).steps) for scenario in found)
        json = msgspec.json.encode(profile)
        pure, ours = in_turns(lambda p=profile: [batching_simulation.simulate(p, scenario) for scenario in found],  # type: ignore[misc]
                              lambda p=json: [simulate(p, file) for file in files * ROUNDS])  # type: ignore[misc]
        note = f"{', '.join(SCENARIOS)}: {events:,} commands; the pure one {events / pure:,.0f}/s"
        figures += [plain(f"native simulation of durable work, {name}", events * ROUNDS / ours, "events/s", note),
                    plain(f"native simulation of durable work, faster than the pure one, {name}", pure * ROUNDS / ours, "x")]  # fmt: skip
    return figures
