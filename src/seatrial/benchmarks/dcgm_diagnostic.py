"""`dcgmi diag -j` of DCGM 3 and 4: which tests passed on which GPU. A test that was skipped shows nothing."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.reading import OBJECT_END, START, OutputLine, Reading, objects_in
from seatrial.model.benchmark import Metric, Output, Result
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

PASSED = "passed_tests"
ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
"""Names of the object with the tests: DCGM 4, and earlier ones."""
CONFIG_SEVERITY = 5
"""DCGM_ERROR_CONFIG of dcgm_errors.h: a setting, and no fault of the hardware."""
SOFTWARE_CATEGORIES = (3, 4, 6, 8)
"""Categories of dcgm_errors.h: configuration of software, library, CUDA, other software."""
WORDS = {
    "pass": "pass", "passed": "pass", "ok": "pass", "fail": "fail", "failed": "fail", "error": "fail",
    "warn": "warn", "warning": "warn", "skip": "skip", "skipped": "skip", "not run": "skip", "n/a": "skip",
}  # fmt: skip
SETTINGS = re.compile(r"(?i)persistence mode|permission|denylist|page retirement info.{0,40}not|environment variable")
"""Warnings of DCGM 3, which has no severities, that are about settings."""
NUMBER = re.compile(r"\d{1,6}")
LONGEST = 200
MARK = r'"DCGM (?:GPU )?Diagnostic"\s*:'


class DiagnosticResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one test says of one GPU, or of several together."""

    test: str
    gpus: str
    word: str
    """`pass`, `warn`, `fail` or `skip`."""
    warning: str = ""
    setting: bool = False
    """Whether all that it warns of are settings."""


def parse(text: str) -> Output:
    """All diagnostics of one output: each is one JSON object, which other lines may precede."""
    reading = Reading("dcgm-diagnostic", text, closing=OBJECT_END)
    results: list[DiagnosticResult] = []
    objects = 0
    for content in reading.json_objects(text):
        root = next((content[name] for name in ROOTS if isinstance(content.get(name), Mapping)), None)
        if root is None:
            continue
        objects += 1
        metadata = content.get("metadata")
        of_version = metadata if isinstance(metadata, Mapping) else root
        reading.version = str(of_version.get("version", ""))[:40]
        if error := root.get("runtime_error"):
            reading.breach(FindingKind.PROGRAM_FAILED, f"the diagnostic reports: {str(error)[:LONGEST]}")
        results += _results(root)
    if not objects:
        reading.lack("it has no whole object of a diagnostic")
    elif not results:
        reading.lack("it has no result of any test")
    _judge(reading, results)
    return reading.output()


def _results(root: Mapping[str, Any]) -> Iterator[DiagnosticResult]:
    for category in objects_in(root.get("test_categories")):
        for test in objects_in(category.get("tests")):
            name = str(test.get("name", "a test without a name"))[:80]
            summary = test.get("test_summary")
            results = [_result(name, result) for result in objects_in(test.get("results"))]
            yield from results
            if isinstance(summary, Mapping):  # it alone shows an error that belongs to no GPU
                whole = _result(name, {"entity_group": "all", **summary})
                words = {each.word for each in results}
                if not words or whole.word in {"fail", "warn"} - words:
                    yield whole


def _result(name: str, result: Mapping[str, Any]) -> DiagnosticResult:
    kind = str(result.get("entity_group", "GPU"))[:20]
    number = result.get("entity_id", result.get("gpu_ids", result.get("gpu_id", "")))
    warnings = result.get("warnings")
    texts, settings = [], []
    for warning in warnings if isinstance(warnings, list) else [warnings] if warnings else []:
        fields = warning if isinstance(warning, Mapping) else {"warning": warning}
        texts.append(str(fields.get("warning", "")))
        severity, category = _whole(fields.get("error_severity")), _whole(fields.get("error_category"))
        settings.append(
            severity == CONFIG_SEVERITY or category in SOFTWARE_CATEGORIES
            if severity is not None or category is not None
            else bool(SETTINGS.search(texts[-1]) or SETTINGS.fullmatch(name))
        )
    return DiagnosticResult(
        test=name,
        gpus=f"{kind} {str(number)[:60]}".strip(),
        word=WORDS.get(str(result.get("status", "")).strip().lower(), "skip"),
        warning="; ".join(texts)[:LONGEST],
        setting=bool(settings) and all(settings),
    )


def _whole(content: object) -> int | None:
    """A number of a warning, which some versions write as text; None: it has none."""
    text = str(content)
    return int(text) if NUMBER.fullmatch(text) else None


def _judge(reading: Reading, results: list[DiagnosticResult]) -> None:
    words = Counter(result.word for result in results)
    passed = words["pass"]
    if results:
        reading.add(Result(metric=PASSED, value=float(passed), line=0, printed=str(passed), labels={}))
    reading.evidence("tests", len(results))
    reading.evidence("skipped", words["skip"])
    for result in results:
        if result.word in ("fail", "warn"):
            kind = FindingKind.DIAGNOSTIC_SETTING if result.setting else FindingKind.DIAGNOSTIC_FAILED
            reading.breach(kind, f"{result.test} of {result.gpus}: {result.word}", OutputLine(0, result.warning))
    skipped = [f"{result.test} of {result.gpus}" for result in results if result.word == "skip"]
    if skipped:
        named = ", ".join(dict.fromkeys(skipped[:3])) + (f" and {len(skipped) - 3} more" if len(skipped) > 3 else "")
        what = count(len(skipped), "test")
        reading.breach(FindingKind.DIAGNOSTIC_SKIPPED, f"{what} did not run ({named}): nothing is shown by them", START)


BENCHMARK = Benchmark(
    name="dcgm-diagnostic",
    title="dcgmi diag",
    requires="DCGM (dcgmi diag -j)",
    marks=(MARK,),
    beginnings=('{\n  "DCGM Diagnostic"', '{\n  "DCGM GPU Diagnostic"', '{\n\t"DCGM GPU Diagnostic"'),
    parse=parse,
    metrics=(Metric(PASSED, "results of tests that passed", of_result=True),),
    main_metric=PASSED,
    evidence=("tests", "skipped"),
    gates=(FindingKind.DIAGNOSTIC_FAILED, FindingKind.DIAGNOSTIC_SETTING, FindingKind.DIAGNOSTIC_SKIPPED),
    complete="the end of the JSON object",
    own_limits=True,
)
