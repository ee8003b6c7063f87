"""Inputs from other inputs: real ones with a few things changed, and garbage."""

import random
import tempfile
from functools import cache
from pathlib import Path

from tests.support import benchmark_outputs, format_variants, gpu_outputs, machines, matrices
from tests.support.collecting import collected_text
from tests.support.machine_forms import hwloc_xml, sysinfo
from tests.support.paths import DATA

LONGEST = 64_000
"""Bytes of an input. Most are cut to much less, so that many can be tried."""
USUAL = 3000
NUMBERS = (
    b"1e-320", b"1e400", b"-1", b"0", b"nan", b"-inf", b"inf", b"9" * 19, b"9" * 400, b"9" * 4400, b"1" * 63 + b".5",
    b"0-9999_99", b"[1-99999999999]", b"0x" + b"f" * 40, b"1.2.3.4", b"-0", b"1e-5", b"18446744073709551616", b"1_0",
    "٣".encode(), b"+7", b"0.0", b"4294967295", b"1e308", b"00000000000000000001",
)  # fmt: skip
PIECES = (
    b"\0", b"\x1b[31m", b"\xff\xfe", b"\r", b"\t", b"[", b"]", b"{", b"}", b'"', b"'", b",", b";", b":", b"=", b"#",
    b"|", b"\xc3", "\u2028".encode(), b"\x85", b"(", b")", b"\\", b" ", b"\n", b"/", b"-", b".", b"null", b"true",
)  # fmt: skip
PAIRS = "6 nodes, 12.2 GB/s, 1.1 us, 3+3 on leaves, 1.6 us between leaves"
SERVER = "2 sockets x 4 cores x 2 threads, 4 DIMMs x 32 GiB, HCA mlx5_0 4xHDR gen4 x16 on socket 1"
LISTS = (
    "n[1-64,70],m[01-16]\nrack[1-2]-n[1-4]\nn1 n2 n3\n",
    "srun -N 2 --ntasks-per-node=4 --cpu-bind=cores ./program --size 10\n"
    "mpirun -np 4 --map-by ppr:2:node:PE=4 ./a.out\n",
    "node,2024-01-01,2024-01-02\nn1,12.5,12.6\nn2,11.9,\n",
    '{"n1": [1.5, 2.5], "n2": [1.25, null]}\n',
    "n1 slots=4\nn2:8\n[fe80::1]:22\nn[3-5] max_slots = 2\n",
)
DIGITS = frozenset(b"0123456789")


FOLDERS = {
    "node": ("facts",), "facts": ("facts",), "fabric": ("forwarding", "fabric"), "forwarding": ("forwarding",),
    "recordings": ("recordings",), "slurm": ("slurm", "wild", "launch"), "failures": ("launch", "wild", "transports"),
    "journal": ("archives",), "run.json": ("archives",), "lease": ("archives",), "headline": ("archives",),
}  # fmt: skip
"""Word in the name of a reader -> folders of real inputs that it is for."""
OWN = 0.7
"""Share of inputs that begin as something which the reader is for."""


@cache
def seeds() -> tuple[bytes, ...]:
    """Real outputs, recordings and archives of the tests, whole or in part, and generated ones."""
    files = tuple(path for folder in sorted(DATA.iterdir()) if folder.name != "house" for path in _files(folder.name))
    return (*files, *(text for texts in _outputs().values() for text in texts), *_matrices(), *map(str.encode, LISTS))


@cache
def seeds_of(reader: str) -> tuple[bytes, ...]:
    """Inputs that a reader of this name is for; all where nothing is known of it."""
    texts = [text for name, outputs in _outputs().items() if name in reader for text in outputs]
    texts += [text for word, folders in FOLDERS.items() if word in reader for name in folders for text in _files(name)]
    texts += _machines() if "node" in reader or "recordings" in reader else ()
    texts += _matrices() if "matrix" in reader or "importers" in reader else ()
    texts += map(str.encode, LISTS) if "launch" in reader or "model" in reader or "importers" in reader else ()
    return tuple(texts) or seeds()


@cache
def _files(folder: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes()[:LONGEST] for path in sorted((DATA / folder).rglob("*")) if path.is_file())


@cache
def _outputs() -> dict[str, tuple[bytes, ...]]:
    """By benchmark."""
    tables = (benchmark_outputs.OUTPUTS, format_variants.VARIANTS, gpu_outputs.GPU_OUTPUTS)
    names = sorted({name for table in tables for name in table})
    return {name: tuple(made().encode() for table in tables for made in table.get(name, ())) for name in names}


@cache
def _matrices() -> tuple[bytes, ...]:
    pairs = matrices.matrix(PAIRS)
    writers = (matrices.nxnlatbw, matrices.csv, matrices.mpigraph, matrices.linktest, matrices.osu)
    return tuple(write(pairs).encode() for write in writers)


@cache
def _machines() -> tuple[bytes, ...]:
    """A server with an adapter: what the collector prints, hwloc's XML, and JSON of sysinfo."""
    node = machines.machine(SERVER)
    with tempfile.TemporaryDirectory() as folder:
        facts = collected_text(str(machines.sysfs_tree(node, Path(folder))))
    return facts.encode(), hwloc_xml(node).encode(), sysinfo(node, ("n1",)).encode()


def mutated(content: bytes, chance: random.Random) -> bytes:
    """A part of the content, with up to eight changes."""
    if len(content) > USUAL and chance.random() < 0.9:
        start = chance.choice((0, 0, chance.randrange(len(content))))
        content = content[start : start + chance.randrange(20, USUAL)]
    changed = bytearray(content)
    for _ in range(chance.randrange(1, 9)):
        _change(changed, chance)
    return bytes(changed[:LONGEST])


def garbage(chance: random.Random) -> bytes:
    """Bytes of any kind, or words of those that formats consist of."""
    if chance.random() < 0.5:
        return chance.randbytes(chance.randrange(300))
    return b"".join(chance.choice((*NUMBERS, *PIECES, b"n1", b" ", b"\n")) for _ in range(chance.randrange(60)))


def grown(content: bytes, chance: random.Random) -> bytes:
    """One line of the content with a piece of it repeated until it is long."""
    lines = content.split(b"\n")
    place = chance.randrange(len(lines))
    line = lines[place]
    start = chance.randrange(len(line) + 1)
    end = min(start + chance.randrange(1, 12), len(line))
    piece = line[start:end] or chance.choice((b" ", b"1", b"a"))
    lines[place] = line[:start] + piece * chance.randrange(50, 6000 // len(piece)) + line[end:]
    return b"\n".join(lines[max(place - 30, 0) : place + 5])[:LONGEST]


def _change(text: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(text) + 1)
    match chance.randrange(7):
        case 0:
            text[place:place] = chance.choice(PIECES)
        case 1:
            del text[place : place + chance.randrange(1, 40)]
        case 2 | 3:
            _other_number(text, place, chance)
        case 4:
            end = text.find(b"\n", place) + 1
            text[place:place] = text[place:end] * chance.randrange(1, 4)
        case 5:
            del text[place:]
        case _:
            text[place : place + 1] = chance.randbytes(1)


def _other_number(text: bytearray, place: int, chance: random.Random) -> None:
    """Replace the next number behind a place."""
    start = next((at for at in range(place, min(len(text), place + 400)) if text[at] in DIGITS), place)
    end = start
    while end < len(text) and text[end] in DIGITS:
        end += 1
    text[start:end] = chance.choice(NUMBERS)
