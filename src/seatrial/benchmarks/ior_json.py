"""IOR's output as one JSON object: `ior -O summaryFormat=JSON`, since version 3.2."""

from collections.abc import Iterator, Mapping
from typing import Any

from seatrial.benchmarks.reading import Reading, json_objects
from seatrial.model.benchmark import Label, Output, Result
from seatrial.model.verdict import FindingKind

MEBIBYTE = 1 << 20
WORK = {"numTasks": "ranks", "tasks": "ranks", "numNodes": "nodes", "nodes": "nodes", "repetitions": "repetitions"}
OPERATIONS = ("write", "read")
Fields = Mapping[str, Any]


def parse_json(text: str) -> Output:
    """All runs, an object each. One is complete with its end, `Finished`, and as many results as repetitions."""
    reading = Reading("ior", text, closing=r"\}")
    try:
        for content in json_objects(text):
            _run(reading, content)
    except ValueError:
        reading.lack("its JSON has no end")
    return reading.output()


def _run(reading: Reading, whole: Fields) -> None:
    reading.version = str(whole.get("Version", ""))[:40]
    if "Finished" not in whole:
        reading.lack("it has no closing line (Finished)")
    tests = whole.get("tests")
    if not isinstance(tests, list) or not tests:
        reading.lack("it has no tests")
    for test in tests if isinstance(tests, list) else ():
        if isinstance(test, dict):
            _test(reading, test)


def _test(reading: Reading, test: Fields) -> None:
    options = {**_object(test.get("Options")), **_object(test.get("Parameters"))}
    for field, name in WORK.items():
        value = options.get(field)
        if str(value).isdecimal() and len(str(value)) < 10:
            reading.evidence(name, int(str(value)))
    counted = dict.fromkeys(OPERATIONS, 0)
    for row in _rows(test.get("Results")):
        operation = str(row.get("access", ""))
        if operation not in OPERATIONS:
            continue
        counted[operation] += 1
        labels: dict[str, Label] = {"operation": operation, "api": str(options.get("api", ""))}
        _add(reading, "bandwidth_bytes_per_s", row.get("bwMiB"), MEBIBYTE, labels)
        _add(reading, "time_s", row.get("totalTime"), 1.0, labels)
        if row.get("errors") or row.get("verifyErrors"):
            reading.breach(FindingKind.DATA_CORRUPT, "IOR's own check of the data failed")
    if not any(counted.values()):
        reading.lack("a test has no results")
    wanted = reading.value("repetitions")
    for operation, count in counted.items():
        if count and isinstance(wanted, int) and count < wanted:
            reading.lack(f"a test has {count} of {wanted} repetitions of {operation}")


def _object(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> Iterator[Fields]:
    """Results are objects, in some versions in lists by repetition."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            yield from (row for row in item if isinstance(row, dict))


def _add(reading: Reading, metric: str, value: object, unit: float, labels: dict[str, Label]) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        reading.add(Result(metric=metric, value=value * unit, line=0, printed=f"{value:g}", labels=labels))
    elif value is not None:
        reading.breach(FindingKind.NOT_A_NUMBER, f"{metric} of {labels['operation']} is {str(value)[:40]}")
