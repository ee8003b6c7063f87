"""What a verdict is about: a node, a cable, an uplink, a spine, a pair, the whole fabric, a job, an output."""

import enum


class SubjectKind(enum.StrEnum):
    """The parts of a cluster that a finding can name."""

    NODE = "node"
    UPLINK = "uplink"
    LINK = "link"
    SPINE = "spine"
    DEVICE = "device"
    PAIR = "pair"
    FABRIC = "fabric"
    CLUSTER = "cluster"
    JOB = "job"
    OUTPUT = "output"
    CURVE = "curve"


class Direction(enum.StrEnum):
    """Seen from the subject: data that leaves it, data that enters it, or both."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class Subject(str):
    """One named part as JSON and scenarios write it: "node:n3", "uplink:leaf1", "pair:n1>n2"."""

    __slots__ = ()

    def __new__(cls, *, kind: SubjectKind, name: str) -> "Subject":
        """The part of that kind and name."""
        return super().__new__(cls, f"{kind.value}:{name}")

    @property
    def kind(self) -> SubjectKind:
        """What kind of part it is."""
        return SubjectKind(self.partition(":")[0])

    @property
    def name(self) -> str:
        """The name of the part without its kind."""
        return self.partition(":")[2]

    @property
    def text(self) -> str:
        """The plain text."""
        return str(self)

    @classmethod
    def parse(cls, text: str) -> "Subject":
        """The subject that a text names. Raises ValueError that shows the text and the known kinds."""
        kind, colon, name = text.partition(":")
        if not colon or not name or kind not in tuple(SubjectKind):
            kinds = ", ".join(SubjectKind)
            raise ValueError(f"{text!r} is not a valid subject: write KIND:NAME, with KIND one of {kinds}")
        return cls(kind=SubjectKind(kind), name=name)


FABRIC = Subject(kind=SubjectKind.FABRIC, name="all")
CLUSTER = Subject(kind=SubjectKind.CLUSTER, name="all")
"""All nodes, where something that they share is at fault."""


def node(name: str) -> Subject:
    """The node of that name, its link into the fabric included."""
    return Subject(kind=SubjectKind.NODE, name=name)


def uplink(leaf: str) -> Subject:
    """The link from a leaf switch to the spine."""
    return Subject(kind=SubjectKind.UPLINK, name=leaf)


def link(ends: str) -> Subject:
    """A cable between two switches, by both its ends: "leaf1[9]-spine1[3]". Its first end is where it begins."""
    return Subject(kind=SubjectKind.LINK, name=ends)


def spine(switch: str) -> Subject:
    """A switch that has no nodes, with all its cables."""
    return Subject(kind=SubjectKind.SPINE, name=switch)


def device(name: str) -> Subject:
    """Switches or adapters of a fabric's map, by their names in it."""
    return Subject(kind=SubjectKind.DEVICE, name=name)


def job(number: str) -> Subject:
    """A user's job: what is wrong with how it was started, and not with the machine."""
    return Subject(kind=SubjectKind.JOB, name=number)


def pair(source: str, target: str) -> Subject:
    """The path from one node to another."""
    return Subject(kind=SubjectKind.PAIR, name=f"{source}>{target}")


def output(name: str) -> Subject:
    """The output of a benchmark, by the name of its file."""
    return Subject(kind=SubjectKind.OUTPUT, name=name)


def curve(name: str) -> Subject:
    """A scaling curve, or one size of it: "gke/cpu", "gke/cpu at 64"."""
    return Subject(kind=SubjectKind.CURVE, name=name)
