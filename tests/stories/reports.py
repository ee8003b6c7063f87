"""The six stories. Numbers are pinned as ranges only where they vary from run to run."""

from tests.stories.story import Place, Step, Story, material, site, there, typed, users

PERCENT = r"\d+(\.\d+)? %"


def link_runs(name: str, rate: str) -> tuple[Step, ...]:
    """Three runs of one pair; those that measured each size once have no interval, and are MEASURED."""
    first = rf"(MEASURED|PASS)  n1 to n3: {rate} MB/s,( range .*,)? n = \d: {PERCENT} of its limit"
    return tuple(typed(f"seatrial link n1 n3 --budget 10s --run {name}-{run}", first) for run in (1, 2, 3))


OLD, NEW = "old-1,old-2,old-3", "new-1,new-2,new-3"
UPGRADE = Story(
    name="network-upgrade",
    lab="--node-count 4 --rate 500mbit",
    stands_in="Ethernet of 500 Mb/s and 1 Gb/s stands in for QDR and FDR.",
    steps=(
        typed("seatrial limits --pair n1 n3", r"n1>n3 and back: at most 58\.8 MB/s"),
        typed(
            "seatrial limits --pair n1 n3 --what-if port=1gbit",
            r"With port=1G: n1>n3 at most 117\.7 MB/s, now 58\.8 MB/s \(\+100 %\)",
        ),
        *link_runs("old", r"5\d\.\d"),
        site("seatrial lab down --name $LAB && seatrial lab up --node-count 4 --name $LAB"),
        *link_runs("new", r"1[01]\d\.\d"),
        typed(
            f"seatrial compare {OLD} {NEW}",
            r"FASTER  n1>n3: bandwidth [\d.]+ [KM]iB( x \d+)?, curve ([89]\d|1\d\d)\.\d % higher( \(95 % CI .*\))?",
            r"faster at \d+ of \d+ sizes,\s+\S+ K?i?B to [\d.]+ [KM]iB",
            r"speed_bits_per_s\s+changed\s+on\s+all\s+nodes",
        ),
        typed(
            f"seatrial compare --side-by-side {OLD} {NEW} --label 500M --label 1G --html curves.html",
            r"FASTER  1G: 1[01]\d\.\d MB/s at \d MiB, (1\.9\d|2(\.\d+)?) times 500M(, from .* on)?",
        ),
    ),
)
MESH = Story(
    name="broken-mesh",
    lab="--node-count 2",
    stands_in="Recorded outputs of OpenFOAM 1912 stand in for runs of it.",
    steps=(
        users("cp $DATA/benchmarks/openfoam-1912-pitzdaily.out whole.out"),
        users("cp $DATA/benchmarks/openfoam-1912-lost-patches.out lost.out"),
        typed("seatrial judge whole.out", r"MEASURED  whole\.out: OpenFOAM 1\.19 s; compared with nothing"),
        typed(
            "seatrial judge lost.out",
            r"INVALID  lost\.out: work-skipped: line 318: patches are missing: motorBikeGroup",
            r"Cd is 0 in all",
            code=1,
        ),
        typed(
            "seatrial judge whole.out lost.out --sizes 1,2",
            r"INVALID  lost\.out: work-skipped: line 318: patches are missing: motorBikeGroup",
            code=1,
        ),
        typed(
            "seatrial compare --side-by-side whole.out lost.out 2>&1", r"seatrial: .*lost\.out is left out: .*", code=64
        ),
        typed(
            "seatrial import lost.out 2>&1", r"seatrial: lost\.out: The output is not valid: patches are .*", code=64
        ),
    ),
)
PURE = "env -i HOME=$HOME PATH=$PATH SLURM_CONF=$SLURM_CONF SEATRIAL_SYSROOT=$SEATRIAL_SYSROOT"
SOCKETS = "/run/seatrial-lab/$LAB/facts/n1/sys/devices/system"
TRANSPORTS = Story(
    name="transports-and-launches",
    stands_in=(
        "TCP against OFI stands in for TCP against PSM2; nodes have the cores of this machine, so all of them stand in "
        "for 24; the second socket of n1 is simulated."
    ),
    steps=(
        typed("seatrial doctor", r"PASS  4 ranks came up on 4 nodes by --mpi=pmix, as one world, and messages pass\."),
        typed(
            "seatrial link n1 n3 --transports",
            r"PASS  n1 to n3: TCP carried the data, and eth0 counted its bytes; declared TCP",
            r"^slowing it ",
        ),
        typed(
            'seatrial placement --versus "srun -n $((2 * $(nproc))) true" -- srun -N 2 --ntasks-per-node=$(nproc) true',
            r"PASS  the 2 lines are the same: \d+ ranks on the same nodes and processors",
        ),
        typed(
            "seatrial placement --versus 'srun -n 2 true' -- srun -N 2 --ntasks-per-node=1 true",
            r"NOTE  line 2 differs from line 1: of 2 ranks 1 elsewhere.*",
        ),
        typed(
            "seatrial placement --starts 0 -- srun -N1 -n2 --cpu-bind=map_cpu:0,0 true",
            r"MISCONFIGURED  n1: ranks 0-1 share only processor 0, 2 ranks on 1 node",
            code=1,
        ),
        site(f"echo 1 | install -D /dev/stdin {SOCKETS}/cpu/cpu1/topology/physical_package_id"),
        site(f"echo 0-1 | install -D /dev/stdin {SOCKETS}/node/online"),
        site(f"echo 0 | install -D /dev/stdin {SOCKETS}/node/node0/cpulist"),
        site(f"echo 1-$(($(nproc) - 1)) | install -D /dev/stdin {SOCKETS}/node/node1/cpulist"),
        typed(
            "seatrial placement --starts 0 -- srun -N1 -n1 -c $(nproc) --nodelist=n1 --cpu-bind=map_cpu:1 true",
            r"MISCONFIGURED  n1: adapter is far from the ranks, 1 rank on 1 node",
            r"rank 0 may run on socket 1 only, and eth0 on socket 0",
            code=1,
        ),
        site(f"rm -r {SOCKETS}"),
        users("srun -N1 -n1 --mpi=none hello > slurm-4711.out 2>&1", code=2),
        typed(
            "seatrial doctor --from slurm-4711.out",
            r"BLOCKED  slurm-4711\.out: the program hello does not exist on n1, on PATH\.",
            code=1,
        ),
        typed(
            f"salloc -Q -N2 --exclusive sh -c '{PURE} seatrial doctor; exit $?'",
            r"BLOCKED  This shell is inside job \d+ on n\[\d-\d\]",
            r"and its SLURM_ variables are gone",
            code=1,
        ),
        typed("seatrial doctor --mpi pmi2", r"BLOCKED  --mpi=pmi2: .*", "Use --mpi=pmix, which works here", code=1),
    ),
)
HPL = (
    "date,HPL TFLOP/s",
    *("2016-01-01,0.7636±0.0008", "2016-01-02,0.7629±0.0009", "2016-01-03,0.7641±0.0007"),
    *("2016-02-01,0.6096±0.0052", "2016-02-02,0.6148±0.0049", "2016-02-03,0.6051±0.0050"),
)
LINK = "seatrial link n2 n1 --max-size 4MiB --per-octave 1 --budget 10s --run"
BEFORE, AFTER = "before-1,before-2,before-3", "after-1,after-2,after-3"
REGRESSION = Story(
    name="before-and-after",
    lab="--node-count 4 --rate 500mbit",
    stands_in="A table stands in for HPL; the setting that the lab proves is the MTU of a node, not its scheduler.",
    steps=(
        users(f"printf '%s\\n' {' '.join(map(repr, HPL))} > hpl.csv"),
        typed("seatrial import hpl.csv --name hpl", r"6 runs: hpl-0001 to hpl-0006"),
        typed(
            "seatrial compare hpl-0001,hpl-0002,hpl-0003 hpl-0004,hpl-0005,hpl-0006",
            r"SLOWER  all: HPL TFLOP/s 20\.1 % lower \(95 % CI -21\.7 to -18\.6 %\)",
            code=1,
        ),
        *(material(f"{LINK} before-{run}") for run in (1, 2, 3)),
        site("seatrial lab fault add mtu n2 --mtu 600 --name $LAB"),
        *(material(f"{LINK} after-{run}") for run in (1, 2, 3)),
        typed(
            f"seatrial compare {BEFORE} {AFTER} --prove --blocks 3",
            r"SLOWER  n[12]>n[12]: (bandwidth|latency) .* \d+\.\d % (lower|higher).*",
            r"confirmed: interfaces\.eth0\.mtu_bytes 1500 B → 600 B\s+on\s+n2",
            code=1,
        ),
    ),
)
MANY = Story(
    name="many-core-bring-up",
    lab="--node-count 8 --rate 500mbit",
    stands_in="The slow node is one whose governor is powersave, as its facts say; virtual nodes share this machine.",
    steps=(
        site("F='seatrial lab fault add --name '$LAB; $F governor n6 && $F link-rate n3 --percent 60"),
        typed(
            "seatrial check --no-nodes --html map.html --run map",
            r"SLOW  2 findings: n3, n6",
            r"^1  SLOW  node:n3  slow-link$",
            r"^2  MISCONFIGURED  node:n6  governor$",
            r'^scontrol update NodeName=n3 State=DRAIN Reason="seatrial: link at (59|6\d) % of its limit"$',
            code=1,
        ),
        Step(
            line="if command -v chromium >/dev/null; then chromium --headless --no-sandbox --disable-gpu --dump-dom "
            "file://$PWD/map.html 2>/dev/null; else cat map.html; fi | grep -c '<svg'",
            first=r"[5-9]|\d\d",
            place=Place.MACHINE,
            counts=False,
        ),
        typed(
            "seatrial facts n[5-8] --drift", r"MISCONFIGURED  n6: governor powersave on \d+ of \d+ processors", code=1
        ),
        typed(
            "seatrial nodes n[5-8] --trials arithmetic --repetitions 1",
            r"PASS  4 nodes measured, 4 compared with their peers in 2 figures",
        ),
        site("seatrial lab fault clear --name $LAB"),
        users("scontrol update NodeName=n3 State=DRAIN Reason=cable"),
        typed("seatrial check n3 --no-nodes --no-loaded --budget 20s", r"PASS  n3 may return: .*"),
    ),
)
JOBS = (
    "from tests.support.job_histories import History, sacct_text; "
    "print(sacct_text(History(slow_nodes={'n7': 1.5})), end='')"
)
OPERATION = Story(
    name="operation",
    steps=(
        *(
            typed(
                f"seatrial check --no-nodes --no-loaded --budget 25s --run day-{day}",
                r"PASS  4 nodes, 12 ordered pairs: the worst, .*",
            )
            for day in (1, 2, 3)
        ),
        typed("seatrial baseline set good day-1,day-2,day-3", r"Baseline good, version 1: 3 runs\."),
        site("seatrial lab fault add link-rate n3 --percent 60 --name $LAB"),
        typed(
            "seatrial check --no-nodes --no-loaded --budget 25s --run bad --baseline good",
            r"SLOW  n3: link at (59|6\d) % of its limit",
            r'scontrol update NodeName=n3 State=DRAIN Reason="seatrial: ',
            code=1,
        ),
        typed(
            "seatrial report bad | grep 'scontrol update' | sh; sinfo -hN -n n3 -p main -o '%T %E'",
            r"drain(ed|ing) seatrial: .*",
        ),
        typed(
            "seatrial history bandwidth --subject n3",
            r"INCONCLUSIVE  bandwidth 1 MiB x 4 of n3: 4 runs, too few to find changes",
            r"^bad .* (69|7\d)\.\d MB/s",
            code=2,
        ),
        typed("seatrial runs list --failed", r"run  kind .*|bad .*", "^bad .*"),
        typed("seatrial facts n[1-2] --output taken.tar.gz", r"2 nodes in taken\.tar\.gz"),
        there(
            "seatrial facts --from taken.tar.gz --drift", r"PASS  no fact differs among 2 nodes that should be alike"
        ),
        site(f'PYTHONPATH=$ROOT python -c "{JOBS}" > sacct.txt'),
        typed(
            "seatrial jobs --from sacct.txt",
            r"SLOW  n7: jobs take 1\.5 times as long there; \d+ of \d+ families",
            code=1,
        ),
    ),
)
STORIES = (UPGRADE, MESH, TRANSPORTS, REGRESSION, MANY, OPERATION)
