"""A thousand good answers of seatrial-gate beside as many calls of /bin/true, in turn: at most 5 times as long."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

CALLS, MOST = 1000, 5.0
GATE = Path(__file__).resolve().parents[1] / "gate" / "seatrial-gate"


def main() -> int:
    """Print both medians and the ratio of the sums; 1 if that is too large."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("nodes", "answers"):
            (Path(place) / name).mkdir()
        (Path(place) / "policy").write_text("3600 100 2\n")
        (Path(place) / "nodes" / "n1").write_text(f"good {time.time():.0f} r1\n")
        gate = [str(GATE), "--from", place, "--node", "n1"]
        assert subprocess.run(gate, check=True, capture_output=True, text=True).stdout == "good n1: run r1\n"
        taken_s: dict[str, list[float]] = {"true": [], "gate": []}
        for _ in range(CALLS):
            for name, argv in (("true", ["/bin/true"]), ("gate", gate)):
                began = time.perf_counter()
                subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
                taken_s[name].append(time.perf_counter() - began)
    ratio = sum(taken_s["gate"]) / sum(taken_s["true"])
    medians = ", ".join(f"{name} {sorted(each)[CALLS // 2] * 1e3:.2f} ms" for name, each in taken_s.items())
    print(f"gate: {medians}; {ratio:.1f} times /bin/true (at most {MOST:g})")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
