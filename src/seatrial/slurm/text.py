"""What Slurm's commands print, parsed; pure. Unknown words are kept as they are and do no harm."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from seatrial.failures.printed_text import HARMLESS, without_colours
from seatrial.model.run import NodeCause, NodeState
from seatrial.slurm.argv import HOLDS

PLANNED = "-"
FLAGS = {
    "*": "not responding",
    "~": "powered down",
    "#": "powering up",
    "!": "to be powered down",
    "%": "powering down",
    "$": "in a maintenance reservation",
    "@": "about to reboot",
    "^": "rebooting",
    PLANNED: "planned for another job",
    "+": "",
}
COMPOUND_FLAGS = {
    "not_responding": "*",
    "no_respond": "*",
    "powered_down": "~",
    "powering_up": "#",
    "power_up": "#",
    "power_down": "!",
    "powering_down": "%",
    "maintenance": "$",
    "maint": "$",
    "reboot_requested": "@",
    "reboot_issued": "^",
    "planned": PLANNED,
}
"""Words after the base state in `idle+drain+not_responding`, as scontrol and --json print states."""
BASE_WORDS = ("fail", "invalid_reg", "drain", "completing", "reserved")
"""Words that replace the base state, the gravest first."""
BROKEN = {"down", "error", "fail", "failing", "failg", "unknown", "unk", "no_respond"}
DRAINING = {"draining", "drng"}
"""Out of service, and some job still runs."""
DRAINED = {"drained", "drain", "inval", *DRAINING}
"""inval, since Slurm 21.08: the node has less than slurm.conf says, and gets no jobs until it has."""
RESERVED = {"reserved", "resv", "maint"}
COMPLETING = {"completing", "comp"}
BUSY = {"allocated", "alloc", "mixed", "mix", "planned", "plnd", "blocked", *COMPLETING}
RESUME_TIMEOUT = "ResumeTimeout reached"
"""Slurm's reason for a node that it took out of service because the node did not boot in time."""
COMMAND = re.compile(r"^(?:salloc|srun|sbatch|sinfo|squeue|scontrol|scancel): (?:error: |fatal: )?")
HELD = re.compile(rf"^{HOLDS} (\d{{1,18}})$", re.MULTILINE)
NOT_GIVEN_BACK = re.compile(r"Unable to clean up job allocation")
GRANTED = re.compile(r"Granted job allocation (\d{1,18})")
PENDING = re.compile(r"(?:Pending|queued) job allocation (\d{1,18})|job (\d{1,18}) queued")
LAUNCH_FAILED = re.compile(r"[Ll]aunch for (?:StepId=\S+|step \S+) failed on node (\S+?):\s*(.+)")
MPI_TYPES = ("srun", "--mpi=list")
CRAY = "cray_shasta"
ASIDE = {CRAY, "openmpi", "lam", "mvapich", "mpichgm", "mpichmx", "mpich1_p4", "mpich1_shmem"}
"""cray_shasta is for one vendor's MPI on its own machines, openmpi means none on all Slurms since 2012, and the others
are for MPIs of before 2010, which Slurm listed until 19.05."""


class NodeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One node in one partition, as sinfo reports it."""

    node: str
    state: str
    """The base word in lower case, without flags."""
    flags: str
    partition: str
    default: bool
    reason: str

    @property
    def idle(self) -> bool:
        """Free, and as far as Slurm knows alive."""
        return self.state == "idle" and not set(self.flags) - {"+"}

    @property
    def suspended(self) -> bool:
        """Free, and off to save power or waking up: Slurm wakes it for a job."""
        return self.state == "idle" and set(self.flags) - {"+"} in ({"~"}, {"#"})

    @property
    def falling_asleep(self) -> bool:
        """Free, and on its way off: Slurm wakes it for a job once it is there."""
        return self.state == "idle" and set(self.flags) - {"+"} in ({"%"}, {"!"})

    @property
    def completing(self) -> bool:
        """Cleaning up after a job."""
        return self.state in COMPLETING and "*" not in self.flags

    @property
    def reserved(self) -> bool:
        """Free, and alive, for those who may use a reservation."""
        return self.state in RESERVED and not set(self.flags) - {"+", "$"}

    @property
    def out_of_service(self) -> bool:
        """Down, or taken out by somebody or by Slurm itself."""
        return self.state in BROKEN or self.state in DRAINED or "*" in self.flags

    @property
    def busy(self) -> bool:
        """Alive with somebody else's job."""
        return self.state in BUSY and "*" not in self.flags


def parse_features(text: str, *, active: bool = False) -> dict[str, tuple[str, ...]]:
    """Lines of `sinfo --Node --format=%N|%f|%b`: the words with which the site describes each node; "(null)": none.

    `active`: those that are in effect now, where Slurm can change them by a restart of the node, as with the modes of
    Knights Landing; else all that the node can have.
    """
    features: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        node, bar, words = line.partition("|")
        available, in_effect = (_feature_words(part) for part in (*words.split("|", maxsplit=1), "")[:2])
        given = in_effect if active and in_effect else available
        if bar and node.strip() and given:
            features[node.strip()] = given
    return features


def _feature_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip() not in ("", "(null)"))


def base_and_flags(words: str | Sequence[str]) -> tuple[str, str]:
    """A node's state, as sinfo, scontrol or --json print it: its base word in lower case, and its flags as marks.

    `idle*`, `IDLE+DRAIN`, `down+not_responding`, or the list of words of newer JSON.
    """
    text = (words if isinstance(words, str) else "+".join(words)).strip().lower()
    state = text.rstrip("".join(FLAGS))
    marks = text[len(state) :]
    base, *others = state.split("+")
    flags = [COMPOUND_FLAGS[word] for word in others if word in COMPOUND_FLAGS]
    graver = next((word for word in BASE_WORDS if word in others), "")
    if graver == "drain":
        base = "draining" if base in BUSY else base if base in BROKEN else "drained"
    elif graver:
        base = "inval" if graver == "invalid_reg" else graver
    return base, "".join(flags) + marks


def parse_sinfo(text: str) -> tuple[NodeLine, ...]:
    """Lines of `sinfo --Node --format=%N|%T|%P|%E`; lines of another form are passed over.

    A site's wrapper may print the JSON of `sinfo --json` or `scontrol show nodes --json` instead: it is read as well.
    """
    if text.lstrip().startswith("{"):
        return parse_node_json(text)
    lines_found = []
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) != 4 or not fields[0].strip():
            continue
        state, flags = base_and_flags(fields[1])
        partition = fields[2].strip()
        reason = fields[3].strip()
        lines_found.append(
            NodeLine(
                node=fields[0].strip(),
                state=state,
                flags=flags,
                partition=partition.rstrip("*"),
                default=partition.endswith("*"),
                reason="" if reason in ("none", "(null)", "") else reason,
            )
        )
    return tuple(lines_found)


def parse_node_json(text: str) -> tuple[NodeLine, ...]:
    """A line for each node and partition in the JSON of `scontrol show nodes` or `sinfo`; nothing of damaged JSON.

    The layouts of Slurm's data parsers: 21.08 has a word and `state_flags`, 22.05 words joined by +, later ones lists;
    sinfo groups nodes of equal state since 23.02. Which partition is the default is not said.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    lines: list[NodeLine] = []
    for entry in _objects(document, "nodes"):
        words = [*_words(entry.get("state")), *_words(entry.get("state_flags"))]
        for partition in _words(entry.get("partitions")) or [""]:
            lines += _json_lines(_words(entry.get("name")), words, partition, entry.get("reason"))
    for entry in _objects(document, "sinfo"):
        names, words = _words(_inner(entry, "nodes", "nodes")), _words(_inner(entry, "node", "state"))
        partition = "".join(_words(_inner(entry, "partition", "name"))[:1])
        lines += _json_lines(names, words, partition, _inner(entry, "reason", "description"))
    return tuple(lines)


def _json_lines(names: Sequence[str], words: Sequence[str], partition: str, reason: object) -> Iterator[NodeLine]:
    if not words:
        return
    state, flags = base_and_flags(words)
    why = "".join(_words(reason)[:1]).strip()
    for name in names:
        yield NodeLine(node=name, state=state, flags=flags, partition=partition, default=False, reason=why)


def _objects(document: object, key: str) -> list[dict[str, Any]]:
    entries = document.get(key) if isinstance(document, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _inner(entry: dict[str, Any], key: str, inner: str) -> object:
    """`entry[key][inner]`, or `entry[key]` of a layout that has no object there."""
    value = entry.get(key)
    return value.get(inner) if isinstance(value, dict) else value


def _words(value: object) -> list[str]:
    """ "idle+drain" is one word, ["IDLE", "DRAIN"] are two."""
    words = value if isinstance(value, list) else [value]
    return [word for word in words if isinstance(word, str) and word]


def partition_lines(lines: Sequence[NodeLine], partition: str) -> tuple[NodeLine, ...]:
    """Lines of one partition: the named one, else the default, else the first."""
    name = partition or next((line.partition for line in lines if line.default), lines[0].partition if lines else "")
    return tuple(line for line in lines if line.partition == name)


def why_not(line: NodeLine) -> NodeState:
    """Why a node that is not idle is left out, and whether that is a fault."""
    fault = line.state in BROKEN or "*" in line.flags
    return NodeState(node=line.node, reason=f"Slurm says {state_words(line)}", fault=fault, cause=_cause_of(line))


def state_words(line: NodeLine) -> str:
    """State, flags and reason of a node, as Slurm reports them."""
    words = [line.state, *(FLAGS.get(flag, flag) for flag in line.flags if FLAGS.get(flag, flag))]
    return ", ".join(words) + (f" ({line.reason})" if line.reason else "")


def _cause_of(line: NodeLine) -> NodeCause:
    if RESUME_TIMEOUT in line.reason:
        return NodeCause.RESUME_TIMEOUT
    return NodeCause.BUSY if line.state in BUSY or PLANNED in line.flags else NodeCause.UNAVAILABLE


def reservation_nodes(text: str) -> str:
    """The nodes of `scontrol --oneliner show reservation NAME`, as Slurm writes them; empty where it has none."""
    match = re.search(r"\bNodes=(\S+)", text)
    return match.group(1) if match and match.group(1) != "(null)" else ""


def granted_job(text: str) -> str:
    """The job that salloc says it got; empty where it got none."""
    match = GRANTED.search(text)
    return match.group(1) if match else ""


def held_job(text: str) -> str:
    """The job whose number `argv.HOLDER` printed; empty where it is not there."""
    match = HELD.search(text)
    return match.group(1) if match else ""


def given_back(text: str) -> bool:
    """Whether a salloc that ended, and wrote this to standard error, could reach the controller in the end."""
    return NOT_GIVEN_BACK.search(text) is None


def pending_job(text: str) -> str:
    """The job that salloc says it waits for; empty where it waits for none."""
    match = PENDING.search(text)
    return next((group for group in match.groups() if group), "") if match else ""


def submitted_job(text: str) -> str:
    """The job of `sbatch --parsable` (`123` or `123;cluster`); empty where it is none."""
    number = text.strip().splitlines()[-1].partition(";")[0] if text.strip() else ""
    return number if number.isdecimal() else ""


def complaint(text: str) -> str:
    """The line of a command's standard error that matters, without the command's own name before it."""
    complaints = [
        line.strip()
        for line in without_colours(text).splitlines()
        if re.search(r"[^\W\d_]", COMMAND.sub("", line.strip()))
    ]
    lines = [line for line in complaints if not HARMLESS.search(line)] or complaints
    errors = [line for line in lines if "error" in line.lower()]
    return COMMAND.sub("", errors[0] if errors else lines[0] if lines else "it said nothing")


def launch_failures(text: str) -> dict[str, str]:
    """Nodes on which srun could not launch, with its reason."""
    return {match.group(1): match.group(2).strip() for match in LAUNCH_FAILED.finditer(text)}


MOST_LABEL = 12
"""Characters of a task's number, which srun pads with blanks."""


def unlabelled(text: str, opening: str = "") -> tuple[str, ...]:
    """What each task said, from the output of `srun --label` ("3: line"); tasks in order, labels taken off.

    `opening`: how the first line of each begins; what comes before it is said by the site's TaskProlog, and left out.
    """
    tasks: dict[int, list[str]] = {}
    for line in text.splitlines():
        label, colon, rest = line.partition(":")
        if colon and label.strip().isdecimal() and len(label) <= MOST_LABEL:
            said = rest[1:] if rest.startswith(" ") else rest
            if int(label) in tasks or said.startswith(opening):
                tasks.setdefault(int(label), []).append(said)
    return tuple("\n".join(tasks[task]) + "\n" for task in sorted(tasks))


def config_value(text: str, key: str) -> str:
    """One value of `scontrol show config`; empty where it is not said."""
    match = re.search(rf"^{re.escape(key)}[ \t]*=[ \t]*(.*)$", text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def controllers(config: str) -> tuple[str, ...]:
    """Hosts of SlurmctldHost[0], [1], ... in `scontrol show config`, without domains and addresses."""
    return tuple(re.findall(r"^SlurmctldHost\[\d{1,4}\][ \t]*=[ \t]*([\w-]+)", config, re.MULTILINE))


def unknown_names(wanted: Iterable[str], existing: Iterable[str]) -> list[str]:
    """The wanted ones that are not known, in order."""
    names = set(existing)
    return [name for name in wanted if name not in names]


def parse_mpi_list(text: str) -> tuple[str, ...]:
    """The words that `srun --mpi=list` prints: a title, then a word a line.

    Slurm before 22.05 puts `srun: ` before each, the oldest ones `mpi/`, too; later ones name the versions of pmix in a
    line of its own, which say nothing that the word pmix does not.
    """
    words = []
    for line in text.splitlines():
        word = line.strip().removeprefix("srun: ").strip().removeprefix("mpi/")
        if re.fullmatch(r"[\w-]+", word) and word not in ASIDE:
            words.append(word)
    return tuple(dict.fromkeys(words))


def default_type(config: str) -> str:
    """The site's MpiDefault in `scontrol show config`; `none` if it is not set."""
    named = config_value(config, "MpiDefault").removeprefix("mpi/")
    return named if named not in ("", "(null)") else "none"


JOINS_NONE = "none"
"""Joins no ranks. An MPI that starts without a type has worked by the site's own."""


def other_types(listed: str, config: str) -> tuple[str, tuple[str, ...]]:
    """The site's own type, and the others that may work: from the list and from `scontrol show config`.

    Cray MPICH is started by cray_shasta alone, and no other MPI is: it is the last that is tried.
    """
    usual = default_type(config)
    names = [*parse_mpi_list(listed), *([CRAY] if CRAY in listed.split() else [])]
    return usual, tuple(name for name in names if name not in (usual, JOINS_NONE))
