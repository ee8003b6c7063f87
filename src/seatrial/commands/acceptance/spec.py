"""The file of an acceptance: benchmarks, how often each is run, and what its numbers must reach."""

import math
import re

import msgspec

from seatrial.model.benchmark import Label
from seatrial.model.errors import UsageError, toml_record
from seatrial.model.settings import MOST_REPETITIONS
from seatrial.model.words import count

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
MOST_BENCHMARKS = 200


class AcceptanceThreshold(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one metric must reach. `least` and `most` are in base units, shares are of the limit or the baseline."""

    metric: str
    where: dict[str, Label] = {}
    """Labels that a number must have, such as part = "HPL_Tflops"; without any, all numbers of the metric count."""
    least: float | None = None
    most: float | None = None
    of_limit: float | None = None
    """Least share of the limit that `seatrial bench run` knows for the metric; of times, the inverse."""
    of_baseline: float | None = None
    """Least share of what the baseline's run delivered; of times, the inverse."""
    baseline: str = ""
    """The run, by its name in the archive."""


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark as it is to be run."""

    name: str
    benchmark: str
    """A name, or a TOML file beside this one."""
    nodes: str = ""
    node_count: int = 0
    ranks: int = 0
    program: str = ""
    case: str = ""
    """A folder, relative to this file."""
    repetitions: int = 1
    set: dict[str, str] = {}
    threshold: tuple[AcceptanceThreshold, ...] = ()


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. `node_hours`: of all runs together; 0: no limit."""

    name: str
    node_hours: float = 0.0
    benchmark: tuple[Item, ...]


def parse_spec(text: str, source: str) -> Spec:
    """The content of the file. Raises UsageError that says what is wrong in it."""
    spec = toml_record(text, Spec, source, "docs/acceptance.md describes the file.")
    names = [item.name for item in spec.benchmark]
    for name in (spec.name, *names):
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{source}: name = {name!r} is not a valid name.", "Use up to 40 letters, digits, '-' and '_'."
            )
    if not names or len(names) > MOST_BENCHMARKS or len(set(names)) < len(names):
        raise UsageError(
            f"{source}: it has {count(len(names), 'benchmark')}, {len(set(names))} of them with different names.",
            f"Write 1 to {MOST_BENCHMARKS} tables [[benchmark]], each with its own name.",
        )
    for item in spec.benchmark:
        _check(item, source)
    return spec


def _check(item: Item, source: str) -> None:
    """Refuse numbers that are not possible, and thresholds that compare with nothing."""
    if not 1 <= item.repetitions <= MOST_REPETITIONS or item.node_count < 0 or item.ranks < 0:
        raise UsageError(
            f"{source}: {item.name}: repetitions = {item.repetitions}, node_count = {item.node_count}, ranks = "
            f"{item.ranks} are not possible.",
            f"Give 1 to {MOST_REPETITIONS} repetitions.",
        )
    for threshold in item.threshold:
        given = (threshold.least, threshold.most, threshold.of_limit, threshold.of_baseline)
        if all(value is None for value in given):
            raise UsageError(
                f"{source}: {item.name}: the threshold of {threshold.metric} compares with nothing.",
                "Give least, most, of_limit or of_baseline.",
            )
        shares = (threshold.of_limit, threshold.of_baseline)
        if any(value is not None and not math.isfinite(value) for value in given) or any(
            value is not None and value <= 0 for value in shares
        ):
            raise UsageError(
                f"{source}: {item.name}: the threshold of {threshold.metric} is not a number, or a share that is not "
                "above 0.",
                "Write least and most as finite numbers, and shares like 0.9.",
            )
        if (threshold.of_baseline is None) != (not threshold.baseline):
            raise UsageError(
                f"{source}: {item.name}: of_baseline and baseline go together.", 'Write baseline = "RUN" beside it.'
            )
