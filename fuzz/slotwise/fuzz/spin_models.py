"""What two cores can't show, or would take too long to: computed from the cost model. Every figure of this module is a model's.

An idle interval of length X under a window t costs X if X <= t, else t and a park. Times in µs.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a machine, µs: a pause, a reading of the clock, CPU of a park and its wake, from a publication to a parked and to a spinning worker's look."""

    pause: float
    clock: float
    park: float
    wake: float
    catch: float


#: What the published measurement quotes of its host; the look of a spinning worker is not quoted.
QUOTED = Costs(pause=0.0315, clock=0.020, park=68.3, wake=40.0, catch=0.0)
KMP_BLOCKTIME = 200_000.0                                     # LLVM's and Intel's OpenMP: 200 ms, by default
LOOKS, PAUSES = 300_000, 1 << 20                              # libgomp's looks; ONNX Runtime's pauses


def windows(costs: Costs) -> dict[str, float]:
    """How long the fixed spinning of other runtimes lasts on this machine."""
    return {"OpenMP": KMP_BLOCKTIME, "libgomp": LOOKS * costs.pause, "ONNX Runtime": PAUSES * costs.pause}


@dataclass(frozen=True, slots=True)
class Modelled:
    trace: str
    arm: str
    cpu: float                # µs per gap
    p50: float                # dispatch latency, µs

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "model": True}


def column(trace: str, arm: str, window: float, gaps: Sequence[float], costs: Costs) -> Modelled:
    spent = [gap if gap <= window else window + costs.park for gap in gaps]
    return Modelled(trace, arm, sum(spent) / len(spent), median(costs.catch if gap <= window else costs.wake for gap in gaps))


def columns(gaps: Mapping[str, Sequence[float]], costs: Costs) -> list[Modelled]:
    """Runtimes that come to the same on a trace (none of its gaps outlasts them) share a row."""
    found = []
    for trace, of in gaps.items():
        alike: dict[tuple[float, float], list[str]] = {}
        for arm, window in windows(costs).items():
            one = column(trace, arm, window, of, costs)
            alike.setdefault((one.cpu, one.p50), []).append(arm)
        found += [Modelled(trace, ", ".join(arms), cpu, p50) for (cpu, p50), arms in alike.items()]
    return found


def cores(costs: Costs, gap: float, work: float = 20.0, width: int = 16) -> dict[str, float]:
    """Cores that the workers of a pool so wide burn while they wait, where tasks of `work` µs follow gaps of `gap` µs: every worker is
    woken, each window as policy. GFTL comes to the better of parking and spinning."""
    policies = {"spin": float("inf"), "fixed 500": 500.0, "break-even": costs.park, "park": 0.0}
    spent = {name: (gap if gap <= window else window + costs.park) for name, window in policies.items()}
    spent["GFTL 0"] = min(gap if gap <= 2 * costs.park else float("inf"), costs.park)
    return {name: (width - 1) * min(cost, gap + work) / (gap + work) for name, cost in spent.items()}
