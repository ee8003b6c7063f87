"""How often `fabric check` names exactly what is wrong: faults planted at random places of generated and given maps.

    python -m bench.planted_map_faults [DRAWS] [MAP ...]

Prints, for each map and kind of fault, how many of DRAWS (100) were named exactly, without any other name.
"""

import random
import sys
import time
from pathlib import Path

from tests.support.fabrics import fabric_text
from tests.support.map_faults import FAULTS, named_exactly, original, plant

TREES = (
    "4 leaves x 4 hosts, 2 spines, 2 cables, 4xEDR",
    "6 leaves x 8 hosts, 3 spines, 1 cables, 4xHDR",
    "12 leaves x 16 hosts, 4 spines, 2 cables, 4xNDR, engines",
    "32 leaves x 18 hosts, 9 spines, 2 cables, 4xNDR, engines",
)


def main(words: list[str]) -> int:
    """0 if at least 95 % of all draws were named exactly."""
    draws = int(words[0]) if words else 100
    maps = {tree: fabric_text(tree) for tree in TREES} | {name: Path(name).read_text() for name in words[1:]}
    right = total = 0
    for name, text in maps.items():
        whole, started = original(text), time.monotonic()
        for kind in FAULTS:
            wrong = [seed for seed in range(draws) if not named_exactly(plant(kind, whole, random.Random(seed)), whole)]
            right, total = right + draws - len(wrong), total + draws
            seeds = f"  wrong: seeds {wrong[:5]}" if wrong else ""
            print(f"{Path(name).name:58} {kind:30} {draws - len(wrong):4} of {draws}{seeds}", flush=True)
        print(f"{Path(name).name:58} {time.monotonic() - started:.0f} s")
    print(f"named exactly: {right} of {total} ({100 * right / total:.1f} %)")
    return 0 if right >= 0.95 * total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
