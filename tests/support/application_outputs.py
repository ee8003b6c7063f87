"""Short outputs of GROMACS and Quantum ESPRESSO in their formats; all numbers are made up and agree with each other."""

import json
from collections.abc import Callable


def gromacs(steps: int = 100, temperature: float = 300.0) -> str:
    """md.log of mdrun 2022 on two ranks."""
    blocks = "".join(
        f"           Step           Time\n{step:>15d}{step * 0.001:>15.5f}\n\n   Energies (kJ/mol)\n"
        f"      Potential    Kinetic En.    Temperature\n"
        f"{-34231.7 - step:>15.5e}{7579.4:>15.5e}{temperature + step / 10:>15.5e}\n\n"
        for step in (0, steps // 2, steps)
    )
    rows = (("Neighbor search", 0.25), ("Force", 0.75), ("PME mesh", 0.98), ("Rest", 0.02))
    table = "".join(f" {name:<22} 2    1        101  {time:>10.3f}  1.000  25.0\n" for name, time in rows)
    return (
        "          :-) GROMACS - gmx mdrun, 2022.5 (-:\n\nGROMACS:      gmx mdrun, version 2022.5\n"
        "GROMACS version:    2022.5\nRunning on 2 nodes with total 4 cores, 4 processing units\n"
        f"   dt                             = 0.001\n   nsteps                         = {steps}\n"
        "Using 2 MPI processes\nUsing 1 OpenMP thread per MPI process\nThere are: 3000 Atoms\n\n"
        f"Started mdrun on rank 0 Mon Nov 23 14:00:09 2026\n\n{blocks}"
        "Energy conservation over simulation part #1 of length 0.1 ps, time 0 to 0.1 ps\n"
        "  Conserved energy drift: -6.35e-04 kJ/mol/ps per atom\n\n"
        " Average load imbalance: 4.4%.\n"
        f"     R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G\n\n{table}"
        f" Total                                       2.000  4.000 100.0\n"
        "               Core t (s)   Wall t (s)        (%)\n       Time:        4.000        2.000      200.0\n"
        f"                 (ns/day)    (hour/ns)\nPerformance: {(steps + 1) * 1e-6 * 43200:>12.3f} {5.501:>12.3f}\n"
        "Finished mdrun on rank 0 Mon Nov 23 14:00:11 2026\n\n"
    )


def espresso(iterations: int = 3, accuracy: str = "3.5E-10") -> str:
    """pw.x 6.7 on two ranks."""
    blocks = "".join(
        f"     iteration #{number:>3d}     ecut=    18.00 Ry     beta= 0.70\n"
        f"     total energy              =     -63.42{number:d}00000 Ry\n"
        f"     estimated scf accuracy    <       {0.1**number:.8f} Ry\n\n"
        for number in range(1, iterations + 1)
    )
    return (
        "\n     Program PWSCF v.6.7MaX starts on 23Nov2026 at 14: 0: 1 \n\n"
        "     Parallel version (MPI), running on     2 processors\n\n"
        "     MPI processes distributed on     2 nodes\n     number of atoms/cell      =            8\n"
        "     number of Kohn-Sham states=           16\n     kinetic-energy cutoff     =      18.0000  Ry\n"
        "     scf convergence threshold =      1.0E-08\n     number of k points=     8\n\n"
        f"     Self-consistent Calculation\n\n{blocks}     End of self-consistent calculation\n\n"
        f"!    total energy              =     -63.42{iterations:d}00000 Ry\n"
        f"     estimated scf accuracy    <          {accuracy} Ry\n\n"
        f"     convergence has been achieved in {iterations:>3d} iterations\n\n"
        "     init_run     :      0.12s CPU      0.50s WALL (       1 calls)\n"
        "     electrons    :     59.45s CPU   1m 3.00s WALL (       1 calls)\n\n     Called by electrons:\n"
        "     c_bands      :      0.38s CPU      0.67s WALL (       9 calls)\n\n"
        "     PWSCF        :   1m 0.61s CPU   1m 4.55s WALL\n\n"
        "   This run was terminated on:  14: 0: 6  23Nov2026            \n\n"
        f"={78 * '-'}=\n   JOB DONE.\n={78 * '-'}=\n"
    )


def npb(verification: str = "SUCCESSFUL", rate: float = 51234.5) -> str:
    """CG of class C on 16 ranks."""
    rows = {
        "Class": "C", "Size": 150000, "Iterations": 75, "Time in seconds": 2.8, "Total processes": 16,
        "Active processes": 16, "Mop/s total": rate, "Mop/s/process": round(rate / 16, 2),
        "Operation type": "floating point", "Verification": verification, "Version": "3.4.3",
        "Compile date": "02 Feb 2026",
    }  # fmt: skip
    table = "".join(f" {name:<16}={value!s:>25}\n" for name, value in rows.items())
    head = (
        " NAS Parallel Benchmarks 3.4 -- CG Benchmark\n\n Size:     150000  (class C)\n\n   iteration   ||r||   zeta\n"
    )
    return f"{head}        1   0.7E-12  109.9\n Benchmark completed\n\n\n CG Benchmark Completed.\n{table}"


def gups(errors: int = 0, outcome: str = "passed") -> str:
    """RandomAccess on 8 ranks."""
    return (
        "Running on 8 processors (PowerofTwo)\nTotal Main table size = 2^30 = 1073741824 words\n"
        "PE Main table size = 2^27 = 134217728 words/PE\nReal time used = 10.500000 seconds\n"
        "0.409044503 Billion(10^9) Updates    per second [GUP/s]\n"
        "0.051130563 Billion(10^9) Updates/PE per second [GUP/s]\nVerification:  Real time used = 4.1 seconds\n"
        f"Found {errors} errors in 1073741824 locations ({outcome}).\n"
    )


def qperf() -> str:
    """The hosts, and one test: a cut between two tests cannot be seen."""
    return (
        "conf:\n    loc_node   =  c1\n    loc_qperf  =  0.4.11\n    rem_node   =  c2\n    rem_qperf  =  0.4.11\n"
        "rc_rdma_write_bw:\n    bw  =  11.4 GB/sec\n"
    )


def iperf(gbits: float = 23.4, protocol: str = "TCP", error: str = "") -> str:
    """iperf3 -J from c1 to c2, with one of its intervals."""
    sums = {"seconds": 10.0, "bytes": int(gbits * 1.25e9), "bits_per_second": gbits * 1e9}
    start = {
        "connected": [{"socket": 5, "local_host": "10.1.0.1", "remote_host": "10.1.0.2"}],
        "version": "iperf 3.12", "connecting_to": {"host": "c2", "port": 5201},
        "test_start": {"protocol": protocol, "num_streams": 4, "duration": 10, "reverse": 0},
    }  # fmt: skip
    end = {"sum_sent": {**sums, "retransmits": 3}, "sum_received": sums} if protocol == "TCP" else {"sum": sums}
    failed = {"end": {}, "error": error} if error else {"end": end}
    return (
        json.dumps({"start": start, "intervals": [{"sum": sums}], **failed}, indent="\t", separators=(",", ":\t"))
        + "\n"
    )


MORE_OUTPUTS: dict[str, tuple[Callable[[], str], ...]] = {
    "gromacs": (gromacs,),
    "espresso": (espresso,),
    "npb": (npb,),
    "gups": (gups,),
    "qperf": (qperf,),
    "iperf3": (iperf,),
}
"""Name of the benchmark -> complete outputs that pass all gates."""
