"""Feed many inputs to all readers, in as many processes as there are cores, and keep what fails in `build/fuzz`."""

import argparse
import multiprocessing
import os
import time
from collections import Counter

from tests.fuzz.mutations import seeds
from tests.fuzz.readers import readers
from tests.fuzz.trial import Failure, content_of, limit_memory, tried
from tests.support.paths import ROOT

FOLDER = ROOT / "build" / "fuzz"
MOST_KEPT = 5
"""Inputs of one reader."""
PART = 2000
"""Inputs of one piece of work."""


def main() -> int:
    """The exit status: 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="how many, for all readers together")
    parser.add_argument("--seed", type=int, default=1, help="other seeds are other inputs")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--readers", default="", help="only readers whose name contains this")
    asked = parser.parse_args()
    began, done, failed = time.monotonic(), 0, Counter[str]()
    work = [
        (asked.seed, first, min(PART, asked.inputs - first), asked.readers) for first in range(0, asked.inputs, PART)
    ]
    seeds()
    with multiprocessing.get_context("fork").Pool(asked.processes, limit_memory) as pool:
        for count, failures in pool.imap_unordered(part, work):
            done += count
            for failure in failures:
                failed[failure.reader] += 1
                if failed[failure.reader] <= MOST_KEPT:
                    print(
                        f"\n{failure.reader}, seed {failure.seed}: kept in {keep(failure)}\n{failure.reason}",
                        flush=True,
                    )
            if done % (10 * PART) == 0:
                print(f"{done} inputs, {sum(failed.values())} failures, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{done} inputs, {sum(failed.values())} failures in {time.monotonic() - began:.0f} s: {dict(failed)}")
    return 1 if failed else 0


def part(asked: tuple[int, int, int, str]) -> tuple[int, list[Failure]]:
    """How many inputs were tried, and those that failed."""
    seed, first, count, name = asked
    chosen = [reader for reader in readers() if name in reader.name]
    failures = []
    for number in range(first, first + count):
        reader = chosen[number % len(chosen)]
        failure = tried(reader, f"{seed}:{number}", content_of(reader.name, f"{seed}:{number}"))
        failures += [failure] if failure else []
    return count, failures


def keep(failure: Failure) -> str:
    """Write the input of a failure to a file, and return its name."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{failure.reader}-{failure.seed}")
    (FOLDER / name).write_bytes(failure.content)
    return str((FOLDER / name).relative_to(ROOT))


if __name__ == "__main__":
    raise SystemExit(main())
