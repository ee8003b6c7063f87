"""gpu-burn: the rate and the errors of each GPU while all of them multiply matrices, and its verdict on each."""

import re

import msgspec

from seatrial.benchmarks.declaration import Benchmark
from seatrial.benchmarks.gpu_rates import GPU
from seatrial.benchmarks.reading import OutputLine, Reading
from seatrial.model.benchmark import Metric, Output
from seatrial.model.unit_text import NUMBER, number_of, whole_number
from seatrial.model.verdict import FindingKind
from seatrial.model.words import count

RATE, TEMPERATURE = "gpu_rate_flops_per_s", "temperature_celsius"
GIGA = 1e9
PROGRESS = re.compile(r"\d{1,3}(?:\.\d{1,2})?%\s{1,8}proc'd: ")
WORK = re.compile(rf"(?P<done>-?\d{{1,18}}) \((?P<rate>{NUMBER}) Gflop/s\)")
ERRORS = re.compile(r"errors:(?P<errors>[ \d()A-Z!a-z-]{1,4000}?)(?=temps:|$)")
ERROR = re.compile(r"(?P<number>-?\d{1,18})(?P<remark>\s{0,4}\([A-Z!a-z]{1,20}\))?")
TEMPERATURES = re.compile(r"temps:(?P<temps>[ \dC-]{1,2000})")
DEVICE = re.compile(r"^GPU (?P<gpu>\d{1,4}): (?P<name>.{1,120}?) \(UUID: ")
TESTED = re.compile(r"^Tested (?P<gpus>\d{1,4}) GPUs?:")
OUTCOME = re.compile(r"^\s*GPU (?P<gpu>\d{1,4}): (?P<word>OK|FAULTY)\b")
STARTED = re.compile(r"^GPU \d{1,4}: .{1,120}\(UUID: |^Burning for |^Run length not specified")
BEGUN = re.compile(rf"{STARTED.pattern}|proc'd: |^Initialized device")
SETTING = re.compile(
    r"\bInitialized device (?P<gpu>\d{1,4}) with (?P<memory>\d{1,9}) MB .{0,120}?using (?P<kind>DOUBLES|FLOATS)"
)
NO_START = re.compile(r"^Couldn't init a GPU test|^No clients are alive|^No CUDA devices")
MOST_GPUS = 256


class BurnRun(msgspec.Struct):
    """One run while it is read."""

    work: dict[int, int] = {}
    """GPU -> number of multiplications that it has reported so far."""
    rates: dict[int, list[tuple[OutputLine, str]]] = {}
    """GPU -> its reports, each with a new number of multiplications."""
    temperatures: dict[int, tuple[OutputLine, str]] = {}
    errors: dict[int, tuple[OutputLine, str]] = {}
    reported: bool = False
    """Whether it has any report of progress."""
    tested: int = -1
    outcomes: dict[int, tuple[OutputLine, str]] = {}

    @property
    def whole(self) -> bool:
        """Whether the verdict on each of the tested GPUs is there."""
        return self.tested > 0 and len(self.outcomes) >= self.tested


def parse(text: str) -> Output:
    """All runs of one output: the verdict on each GPU ends them."""
    reading = Reading("gpu-burn", text)
    run = BurnRun()
    begun = 0
    for line in reading.whole_lines:
        if (run.whole and BEGUN.search(line.text)) or (run.reported and STARTED.search(line.text)):
            _end(reading, run, begun)
            run, begun = BurnRun(), 0
        begun = begun or (line.number if BEGUN.search(line.text) else 0)
        _line(reading, run, line)
    _end(reading, run, begun)
    return reading.output()


def _line(reading: Reading, run: BurnRun, line: OutputLine) -> None:
    if tested := TESTED.match(line.text):
        run.tested = int(tested["gpus"])
    elif run.tested >= 0 and (outcome := OUTCOME.match(line.text)):
        run.outcomes[int(outcome["gpu"])] = line, outcome["word"]
    elif setting := SETTING.search(line.text):
        reading.evidence("precision", setting["kind"].lower(), line)
    elif NO_START.match(line.text):
        reading.breach(FindingKind.PROGRAM_FAILED, "it tests no GPU", line)
    for part in PROGRESS.split(line.text)[1:]:
        run.reported = True
        _progress(run, line, part)


def _progress(run: BurnRun, line: OutputLine, part: str) -> None:
    """One report of progress: several are written over each other in one line, divided by carriage returns."""
    numbers, _, rest = part.partition("errors:")
    for gpu, work in enumerate(list(WORK.finditer(numbers))[:MOST_GPUS]):
        done = whole_number(work["done"])
        if done > 0 and done != run.work.get(gpu):
            run.work[gpu] = done
            run.rates.setdefault(gpu, []).append((line, work["rate"]))
    errors = ERRORS.match(f"errors:{rest}")
    cells = re.split(r"(?<=[\d)!]) {1,4}- {1,4}|(?<=[\d)])- {1,4}", errors["errors"]) if errors else []
    for gpu, cell in enumerate(cells[:MOST_GPUS]):
        match = ERROR.search(cell)
        if match and (number_of(match["number"]) != 0 or match["remark"]):
            run.errors.setdefault(gpu, (line, cell.strip()))
    temperatures = TEMPERATURES.search(rest)
    for gpu, cell in enumerate(temperatures["temps"].split(" - ")[:MOST_GPUS] if temperatures else ()):
        if degrees := re.match(r"\s*(\d{1,3}) C", cell):
            run.temperatures[gpu] = line, degrees[1]


def _end(reading: Reading, run: BurnRun, begun: int) -> None:
    """The end of a run that begins in this line, without which it is incomplete, and its numbers."""
    if run.tested < 0:
        reading.lack(f"the run that begins in line {begun or 1} has no verdict on its GPUs (Tested ... GPUs)")
    elif not run.tested:
        reading.lack("it tested no GPU")
    elif not run.whole:
        reading.lack(f"the verdicts on {count(run.tested, 'GPU')} are not all there: {len(run.outcomes)} are")
    _add(reading, run)


def _add(reading: Reading, run: BurnRun) -> None:
    """Rates of the GPUs without their first report, which contains the start; the last temperature; the verdicts."""
    if run.tested >= 0:
        reading.evidence("gpus", run.tested)
    for gpu, reports in sorted(run.rates.items()):
        for line, printed in reports[1:] or reports:
            reading.result(RATE, printed, line, GIGA, labels={GPU: gpu})
    for gpu, (line, printed) in sorted(run.temperatures.items()):
        reading.result(TEMPERATURE, printed, line, labels={GPU: gpu})
    for gpu, (line, printed) in sorted(run.errors.items()):
        if "DIED" in printed:
            reading.breach(FindingKind.PROGRAM_FAILED, f"the test of GPU {gpu} died", _short(line))
        else:
            what = f"GPU {gpu} counts errors of its results ({printed})"
            reading.breach(FindingKind.DATA_CORRUPT, what, _short(line))
    for gpu, (line, word) in sorted(run.outcomes.items()):
        if word != "OK":
            reading.breach(FindingKind.DATA_CORRUPT, f"GPU {gpu} is {word}: it computes wrong results", line)
    silent = [gpu for gpu in run.outcomes if run.reported and gpu not in run.rates]
    if silent:
        named = ", ".join(map(str, silent))
        reading.breach(FindingKind.ZERO_RESULT, f"GPU {named} reported no work", run.outcomes[silent[0]][0])


def _short(line: OutputLine) -> OutputLine:
    """The line without its text: reports of progress that overwrite each other fill lines of many kilobytes."""
    return OutputLine(line.number, "")


BENCHMARK = Benchmark(
    name="gpu-burn",
    title="gpu-burn",
    requires="gpu-burn (gpu_burn) and CUDA",
    marks=(r"\d%\s{1,8}proc'd: -?\d{1,18} \(", r"^Tested \d{1,4} GPUs?:", r"^Burning for \d{1,9} seconds"),
    beginnings=("Burning for ", "Run length not specified in the command line."),
    parse=parse,
    metrics=(
        Metric(RATE, "one GPU, without its first report"),
        Metric(TEMPERATURE, "one GPU at the end", of_result=True),
    ),
    main_metric=RATE,
    evidence=("gpus", "precision"),
    gates=(FindingKind.DATA_CORRUPT, FindingKind.ZERO_RESULT),
    complete="`Tested N GPUs:` and the verdict on each of them",
)
