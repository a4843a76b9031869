"""A figure beside its limit, parts that are made of them, and the table of all parts.

A part passes where every figure that has a limit met it, and at least one did. What could not be measured is absent, with
the reason, and never a pass. A rehearsal proves that everything is called and read as it should be, and nothing about a
GPU: what it met is "rehearsed", and figures that depend on how fast the machine is are shown and not judged.
"""

import dataclasses
import math
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator

WIDEST = 18  # value of the table, in characters
PASS, FAIL, ABSENT, NOTE, REHEARSED = "pass", "fail", "absent", "note", "rehearsed"

# Student's t for a two-sided interval of 95 %, by degrees of freedom (1 to 10, then the normal distribution's).
T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)


class Absent(Exception):
    """What a part needs is not there; the reason is the message."""


@dataclasses.dataclass
class Check:
    """One figure. `limit`: in words, empty where there is none."""

    what: str
    value: float | str | None
    unit: str
    limit: str
    state: str
    why: str = ""
    timed: bool = False  # depends on how fast the machine is: not judged in a rehearsal


def note(what: str, value: float | str | None, unit: str = "") -> Check:
    """A figure without a limit."""
    return Check(what, value, unit, "", NOTE)


def absent(what: str, why: str) -> Check:
    return Check(what, None, "", "", ABSENT, why)


def holds(what: str, held: bool, seen: str = "") -> Check:
    """Whether something is as it must be; `seen`: what was there instead, or beside it."""
    return Check(what, "yes" if held else "no", "", "yes", PASS if held else FAIL, seen)


def all_there(what: str, values: list[float | None]) -> Check:
    """Whether every run gave its figure."""
    return holds(what, bool(values) and None not in values, f"{len(values) - values.count(None)} of {len(values)}")


def at_most(what: str, value: float | None, limit: float, unit: str, why: str = "", timed: bool = True) -> Check:
    """A figure that may be as large as `limit`, whichever its sign; `why` where it is None."""
    if value is None or math.isnan(value):
        return absent(what, why or "it was not measured")
    return Check(what, value, unit, f"<= {limit:g} {unit}".strip(), PASS if abs(value) <= limit else FAIL, why, timed)


@dataclasses.dataclass
class Truth:
    """Of plain runs: the mean of their rates, in samples/s, and by how much of it they differ, in per cent."""

    mean: float
    spread: float = 0.0


def truth_of(rates: list[float | None]) -> Truth | None:
    """Absent where a run gave no rate. Worked example: 90 and 110 have a mean of 100 and a spread of 20 %."""
    if not rates or None in rates:
        return None
    mean = statistics.fmean(rates)
    return Truth(mean, 100.0 * (max(rates) - min(rates)) / mean)


def near(what: str, value: float | None, truth: Truth | None, why: str = "", interval: tuple[float, float] | None = None,
         percent: float = 5.0) -> Check:
    """A rate beside that of plain runs, both in samples/s; the interval that the tool gave it is told, too. It is judged where
    plain runs repeat to within the limit: cores that are shared with others make a quarter of a difference."""
    if value is None or truth is None:
        return absent(what, why or ("it was not measured" if value is None else "the plain run gave no rate"))
    error = 100.0 * (value / truth.mean - 1.0)
    told = f" ({interval[0]:.4g} to {interval[1]:.4g})" if interval else ""
    words = f"{value:.4g}{told} beside {truth.mean:.4g} run plainly (spread {truth.spread:.1f} %): {error:+.1f} %"
    if truth.spread > percent:
        return dataclasses.replace(absent(what, f"{words}; plain runs do not repeat to {percent:g} %"), timed=True)
    return at_most(what, error, percent, "%", words, timed=True)


def mean_and_half(values: list[float]) -> tuple[float, float]:
    """The mean and half the width of its 95 % interval, infinite for a single value.

    Worked example: 1, 2 and 3 have a standard deviation of 1; half a width of 4.30 * 1 / sqrt(3) = 2.48."""
    if len(values) < 2:
        return statistics.fmean(values), math.inf
    t = T_95[len(values) - 2] if len(values) - 2 < len(T_95) else 1.96
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


@dataclasses.dataclass
class Part:
    """What is measured in one go. `seconds`: planned on a GPU. `run` yields its checks as they come."""

    name: str
    letter: str
    title: str
    seconds: float
    run: Callable[..., Iterator[Check]]
    needs_gpu: bool = True


def judged(check: Check, rehearsal: bool) -> Check:
    """The check as a rehearsal may tell it."""
    if not rehearsal:
        return check
    if check.timed and check.state in (PASS, FAIL, ABSENT):
        return dataclasses.replace(check, state=NOTE, limit=f"{check.limit} (not judged)".strip())
    return dataclasses.replace(check, state=REHEARSED) if check.state == PASS else check


def state_of(checks: list[Check], rehearsal: bool) -> str:
    """The worst of them; a part without one that holds has shown nothing."""
    states = {check.state for check in checks}
    good = REHEARSED if rehearsal else PASS
    for state in (FAIL, ABSENT):
        if state in states:
            return state
    return good if good in states else ABSENT


def carry_out(part: Part, machine, rehearsal: bool) -> dict:
    """Runs a part; what it raises is a failure of it, or its absence."""
    checks: list[Check] = []
    try:
        checks.extend(judged(check, rehearsal) for check in part.run(machine))
    except Absent as reason:
        checks.append(absent("the part", str(reason)))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        checks.append(Check("the part", None, "", "", FAIL, f"{type(error).__name__}: {error}"))
    return as_json(part, checks, rehearsal)


def as_json(part: Part, checks: list[Check], rehearsal: bool) -> dict:
    return {"part": part.name, "letter": part.letter, "title": part.title, "rehearsal": rehearsal,
            "state": state_of(checks, rehearsal), "planned_s": part.seconds,
            "checks": [dataclasses.asdict(check) for check in checks]}


def shown(value: float | str | None, unit: str) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.4g} {unit}".strip()


def table(results: list[dict], heading: list[str]) -> str:
    """All parts as text, one line a figure."""
    lines = [*heading, ""]
    for result in results:
        took = f", {result['seconds']:.0f} s of {result['planned_s']:.0f} planned" if "seconds" in result else ""
        lines.append(f"({result['letter']}) {result['part']}: {result['state'].upper()}  {result['title']}{took}")
        for check in result["checks"]:
            value, more = shown(check["value"], check["unit"]), check["why"]
            if len(value) > WIDEST:
                value, more = "", f"{value} {more}".strip()
            lines.append(f"  {check['state']:<9} {check['what']:<62} {value:>{WIDEST}}  {check['limit']}".rstrip())
            if more:
                lines.append(f"            {more}")
        lines.append("")
    return "\n".join(lines)
