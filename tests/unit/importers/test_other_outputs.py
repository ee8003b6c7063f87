"""What is not a table of pairs is refused with the name of the tool, and damaged tables give no verdict on nodes."""

import bz2
import contextlib
import gzip
import lzma
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.benchmarks.catalogue import parse_auto, recognised
from seatrial.importers.formats import FORMATS, read_matrix
from seatrial.importers.pair_evidence import NotPairs
from seatrial.locate.table import locate_in_table
from seatrial.model.errors import UsageError
from seatrial.model.verdict import Verdict
from tests.support.benchmark_outputs import babelstream, hpl_mxp
from tests.support.command_line import Seatrial
from tests.support.matrices import csv, matrix, nxnlatbw
from tests.support.properties import examples

SMALL = matrix("8 nodes, 3 GB/s, 1.5 us")
IMB_ROWS = "".join(
    f"{2**size:13d} {1000 >> size // 4:13d} {1.5 * 2**size:13.2f} {9e5 / 2**size:13.0f}\n" for size in range(18)
)
OTHERS = {
    "Intel MPI": f"#    Intel(R) MPI Benchmarks 2019, MPI-1 part\n#bytes #repetitions Mbytes/sec Msg/sec\n{IMB_ROWS}",
    "Intel MPI ": f"       #bytes #repetitions      t[usec]   Mbytes/sec\n{IMB_ROWS}",
    "OSU": "# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n1    1.75\n2    3.50\n",
    "OSU ": "# OSU MPI Allgather Latency Test v5.6\n# Size      Avg Latency(us)\n1    1.75\n2    3.50\n",
    "HPC Challenge": "This is the DARPA/DOE HPC Challenge Benchmark version 1.4.2\nBegin of MPIRandomAccess section.\n",
    "HPL": "T/V                N    NB     P     Q        Time        Gflops\nWR11C2R4 1 2 3 4 5.0 8.05e+02\n",
    "STREAM": "STREAM version $Revision: 5.10 $\nCopy:  1 2 3 4\nTriad:  12000.0 0.1 0.1 0.1\n",
    "OpenFOAM": "Build  : 7\nExec   : simpleFoam -parallel\nTime = 1\nExecutionTime = 0.8 s  ClockTime = 1 s\n",
    "IOR": "IOR-3.2.0: MPI Coordinated Test of Parallel I/O\naccess    bw(MiB/s)  block(KiB)\nwrite     1 2 3\n",
    "fio": "job: (groupid=0, jobs=1): err= 0\n  read: IOPS=62.7k, BW=245MiB/s\n",
    "ibdiagnet": "-I- Running version: ibdiagnet 2.1.1\nSTART_LINKS\n",
    "fabric map": 'Switch\t36 "S-0002c9"\t# "leaf" enhanced port 0 lid 1 lmc 0\n',
    "ibqueryerrors": 'Errors for "n3"\n   GUID 0x100005 port 1: [PortRcvErrors == 7]\n',
    "ibdiagnet ": "----\nPort=3 Lid=0x0002 GUID=0x0000000000200000 Device=54000\n----\nlink_down_counter=0x01\n",
    "opapmaquery": "Port Number             1\n    Errors: Signal Integrity\n        Link Downed      3\n",
    "perfquery": "# Port extended counters: Lid 7 port 1 (CapMask: 0x5300)\nPortSelect:......1\n",
    "perftest": " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n 65536 5000 11.1 11.0 0.1\n",
    "hwloc": '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n',
    "lscpu": "Architecture:        x86_64\nCPU op-mode(s):      32-bit, 64-bit\n",
    "Slurm": "NodeName=n1 Arch=x86_64 CoresPerSocket=16\n   CPUAlloc=0\n",
    "Slurm ": "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\nmain up infinite 4 idle n[1-4]\n",
    "topology.conf": "SwitchName=leaf1 Nodes=n[1-4]\n",
    "JSON of seatrial": '{"exit_code": 0, "verdict": "PASS", "faults": []}',
    "JSON": '{"jobs": [1, 2, 3]}',
    "nccl-tests": "# nThread 1 nGpus 1 minBytes 8\n#       out-of-place   in-place\n 8 2 float sum 1 2 3 4\n",
    "IO500": "IO500 version io500-sc23\n[RESULT]       ior-easy-write        2.231105 GiB/s : time 300.123 seconds\n",
    "JSON of IOR": '{"Version": "4.0.0","Tests": [{"TestID": 0,"Results": [{"access": "write","bwMiB": 2101.2}]}]}',
    "qperf": "tcp_bw:\n    bw  =  1.16 GB/sec\nrc_lat:\n    latency  =  1.63 us\n",
    "GUPS": "Total Main table size = 2^33 = 8589934592 words\nPE Main table size = 2^27 = 134217728 words/PE\n"
    "CPU time used = 71.343523 seconds\n0.4815 Billion(10^9) Updates    per second [GUP/s]\n"
    "Found 0 errors in 8589934592 locations (passed).\n",
    "opainfo": "hfi1_0:1                 PortGUID:0x001175010165afd8\n   PortState:     Active\n",
    "rocm-smi": "=====ROCm System Management Interface=====\nGPU[0]\t\t: Card series: \t\tAMD Instinct MI250X\n",
    "numactl": "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode distances:\n",
    "IO500 ": "# Results\n\n```\n[RESULT]       ior-easy-write  501.974 GiB/s : time 315.20 s\n```\n",
    "elbencho": "09:32:25 - DEBUG - stdout: OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
    "READ   Elapsed time : 1.5s 2.4s\n",
    "Google Benchmark": "1: Run on (16 X 4500 MHz CPU s)\n1: Benchmark            Time             CPU   Iterations\n"
    "1: copy/8         0.295 us        0.567 us      2291565\n",
    "Google Benchmark ": '{"context": {"num_cpus": 64, "library_build_type": "release"}, "benchmarks": [{"name": "a/8",'
    '"real_time": 2.5}, {"name": "a/16", "real_time": 5.0}, {"name": "a/32", "real_time": 9.9}]}',
    "MLPerf": '0: :::MLLOG {"namespace": "", "time_ms": 1725490438668, "key": "run_stop", "value": null}\n',
    "IOzone": "        Children see throughput for  1 initial writers  =  109333.84 KB/sec\n"
    "        Min xfer                                        = 2097152.00 KB\n",
    "gdsio": "IoType: READ XferType: GPUD Threads: 1 DataSetSize: 18/10(KiB) Throughput: 1.83 GiB/sec, "
    "ops: 7 total_time 9 s\n",
    "mbw": "0\tMethod: MEMCPY\tElapsed: 0.02185\tMiB: 64.00000\tCopy: 2928.392 MiB/s\n",
    "hyperfine ": "Benchmark 1: sleep 0.05\n  Time (mean ± σ):      58.2 ms ±   6.9 ms    [User: 1.1 ms]\n",
    "HTML": 3 * "<p><p>&nbsp;Mop/s total     =    495.93\n<br>\n",
    "netperf": "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 port 0 AF_INET to n2 ()\nLocal /Remote\n",
    "network benchmark": "lagscope 1.0.1\n------\n01:13:26 INFO: Minimum = 35.500us, Average = 47.863us\n",
    "stress-ng ": "Jul 28 16:19:31 n1 stress-ng[13]: stress-ng: metrc: [13] cpu   3181  10.02   2.01\n",
    "stress-ng": "stress-ng: info:  [12] dispatching hogs: 2 cpu\nstress-ng: metrc: [12] cpu  25731  10.00  2573.07\n",
    "sysbench": "sysbench 1.0.20 (using system LuaJIT 2.1.0)\n\nNumber of threads: 2\nPrime numbers limit: 10000\n\n"
    "CPU speed:\n    events per second:  2345.67\n\nGeneral statistics:\n    total time:   10.0005s\n",
    "Prometheus": "# HELP node_load1 1m load average.\n# TYPE node_load1 gauge\nnode_load1 0.21\n",
    "hyperfine": '{"results": [{"command": "sleep 1", "mean": 1.0021, "times": [1.0017, 1.0020, 1.0029]}]}',
    "BabelStream": babelstream(),
    "HPL-MxP": hpl_mxp(),
    "iblinkinfo": "CA: n1 mlx5_0:\n   0x0c42a103006c2f5a  4  1[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==> 1 17[  ] \n",
    "Graph500": "NBFS: 64\nbfs  min_TEPS:                  1.2e+09\nbfs  harmonic_mean_TEPS:     !  1.4e+09\n",
    "GPCNet": "NetworkLoad Tests v1.3\n  Test with 64 MPI ranks (4 nodes)\n",
    "GPCNet ": "+------+-----+-----+\n| RR Two-sided Lat (8 B) |  2.9 |  4.3 |\n+------+-----+-----+\n",
    "p2pBandwidthLatencyTest": "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n     0 900.1  41.2\n",
    "p2pBandwidthLatencyTest ": "   D\\D     0      1\n     0 900.11  41.22\n     1  41.21 901.21\n",
    "uptime": "".join(
        f"n{node}:  09:31:4{node} up 33 min,  1 user,  load average: 0.{node}0, 0.1, 0.2\n" for node in range(4)
    ),
    "uptime ": "".join(
        f"n{node} | CHANGED | rc=0 >>\n 09:31:4{node} up 3 days, load average: 0.1, 0.2, 0.3\n" for node in range(4)
    ),
    "ibstat": "CA 'mlx5_0'\n\tCA type: MT4123\n\tPort 1:\n\t\tState: Active\n\t\tRate: 100\n",
    "ibstat ": "Infiniband device 'mlx5_7' port 1 status:\n\trate:\t\t200 Gb/sec (2X NDR)\n",
    "ibv_devinfo": "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t20.35.1012\n",
    "ibportstate": "CA PortInfo:\n# Port info: Lid 6 port 1\nLinkWidthActive:.................1X\n",
    "sminfo": "sminfo: sm lid 15 sm guid 0x10e0406d5aa0a0, priority 14 state 3 SMINFO_MASTER\n",
    "mlxlink": "Operational Info\n----------------\nState                           : Active\n",
    "ethtool": "Settings for eth0:\n\tSpeed: 10000Mb/s\n\tDuplex: Full\n",
    "ethtool ": "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\n",
    "ip link": "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n",
    "lspci": "08:00.0 Ethernet controller: QLogic Corp. FastLinQ\n\t\tLnkSta:\tSpeed 8GT/s, Width x2 (downgraded)\n",
    "lspci ": "0000:41:00.0 Infiniband controller [0207]: Mellanox Technologies MT28908 [15b3:101b]\n",
    "cpupower": "analyzing CPU 0:\n  driver: acpi-cpufreq\n",
    "tuned-adm": "Current active profile: throughput-performance\n",
    "sysctl": "net.core.rmem_max = 212992\nvm.swappiness = 60\n",
    "/proc": "Limit                     Soft Limit           Hard Limit           Units\n",
    "/proc ": "nfs1:/home /home nfs4 rw,relatime,vers=4.2 0 0\n",
    "ulimit": "core file size          (blocks, -c) 0\nmax locked memory       (kbytes, -l) 64\n",
    "ipmitool sensor": "Fan2A   | 0.000   | RPM    | nc    | 840.000 | 1080.00 | na  | na\n",
    "sensors": "coretemp-isa-0000\nAdapter: ISA adapter\nPackage id 0:  +60.0°C  (high = +80.0°C)\n",
    "racadm": "[Key=BIOS.Setup.1-1#SysProfileSettings]\nSysProfile=PerfOptimized\n",
    "ipmi-sensors": "ID   | Name            | Type              | Reading    | Units | Event\n",
    "ras-mc-ctl": "Label   \tCE\tUE\nCPU_SrcID#0_MC#0_Chan#0_DIMM#0\t0\t0\n".replace("   \t", "\t"),
    "ompi_info": "  Configure command line: '--prefix=/usr'\n                 MCA btl: tcp (MCA v2.1.0)\n",
    "ucx_info": "#\n# Memory domain: mlx5_0\n#     Component: ib\n#      Transport: rc_mlx5\n",
    "fi_info": "provider: efa\n    fabric: EFA\n",
    "srun --mpi=list": "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n",
    "configuration of Slurm": "ClusterName=lab\nSlurmctldHost=ctl\nSelectType=select/cons_tres\n",
    "configuration of Slurm ": "CgroupPlugin=autodetect\nConstrainCores=no\n",
    "single lines of dmidecode": "\tSpeed: 2133 MT/s\n\tConfigured Memory Speed: 2133 MT/s\n",
    "nvidia-smi": "\n==============NVSMI LOG==============\n\nTimestamp             : Thu Jan 30 16:14:43 2025\n",
    "nvidia-smi ": "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tSYS\tPHB\t0-15\n",
    "xpu-smi": "| Device ID | Device Information                                        |\n",
    "cxi_stat": "Device: cxi0\n    Description: SS11 200Gb 2P NIC Mezz\n",
    "opafabricinfo": "Fabric 0:0 Information:\nSM: opa1 hfi1_0 Guid: 0x00117501016dffa1 State: Master\n",
    "kernel": "[    3.141592] pci 0000:41:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8\n",
    "kernel ": "Jan  7 11:02:33 n3 kernel: mce: [Hardware Error]: Machine check events logged\n",
    "xthi": "Hello from rank 0, thread 0, on n1. (core affinity = 0,64)\n",
    "fi_pingpong": "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
    "64      10      =10      1.2k        0.00s      1.77      36.25       0.03\n",
    "ucx_perftest": "|    Stage     | # iterations | 50.0%ile | average | overall |\n[thread 0]  1000  1.2  1.3  1.3\n",
    "NAMD": "Info: Benchmark time: 66 CPUs 0.0100226 s/step 0.116002 days/ns 4807.03 MB memory\n",
    "NAMD ": "WallClock: 7.979589  CPUTime: 7.896567  Memory: 9268.125000 MB\n",
    "hdparm": "/dev/sda:\n Timing buffered disk reads:   46 MB in  3.10 seconds =  14.86 MB/sec\n",
    "dd": "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.1 s, 511 MB/s\n",
    "lmbench": "STREAM copy latency: 0.68 nanoseconds\nSTREAM copy bandwidth: 23509.84 MB/sec\n",
    "likwid-bench": "Size per thread:  512\nNumber of Flops:  0\nMByte/s:                136080.57\n",
    "UnixBench": "System Call Overhead    15000.0    3462441.0   2308.3\nSystem Benchmarks Index Score    2945.5\n",
    "gpu-fryer": "GPU #0:  51236.10 Gflops/s (min: 51100.2, max: 51300.1)\nAll GPUs seem healthy\n",
    "the log of ReFrame": "[       OK ] (2/2) Stream @a:b+c\nP: bandwidth: 14294.99 MB/s (r:0, l:None, u:None)\n",
    "the log of ReFrame ": "[  FAILED  ] Ran 11/11 test case(s) from 11 check(s) (2 failure(s), 0 skipped)\n",
    "Caliper": "Path          Min time/rank Max time/rank Avg time/rank Time %\nmain   0.1  0.2  0.15  0.010\n",
    "iostat": "Linux 5.14.0 (cn01)  11/03/2025  _x86_64_ (64 CPU)\n\navg-cpu:  %user   %nice\n   1.23    0.00\n",
    "vmstat": "procs -----------memory---------- ---swap--\n r  b   swpd   free  buff\n 1  0      0 123456  99\n",
    "perf stat": "\n Performance counter stats for './stream':\n\n   12,345.67 msec task-clock\n",
    "turbostat ": "Core CPU Avg_MHz Busy% Bzy_MHz\n- - 4531 99.65 4547\n0 0 4590 99.88 4595\n",
    "likwid-perfctr": "Region DIV_26, Group 1: MEM\n| Region Info | HWThread 0 |\n| call count | 1 |\n",
    "likwid-perfctr ": "| Metric | Sum | Min |\n|  CPI STAT  |  36.1051 | 1.0284 |\n",
    "JSON of lscpu": '{\n "lscpu": [{"field": "CPU(s):", "data": "128"}, {"field": "Socket(s):", "data": "2"}]}\n',
    "JSON of Slurm": '{"meta": {"plugin": {"type": "openapi/dbv0.0.39"}}, "nodes": [{"name": "n1", "cpus": 4}]}\n',
    "JSON of Slurm ": '{\n "jobs": [\n  {"account": "hpc", "job_id": 4711, "time": {"elapsed": 812}}]}\n',
    "kernel  ": "[Mon Sep  1 10:01:13 2025] mlx5_core 0000:41:00.0 eth2: Link down\n"
    "[Mon Sep  1 10:01:14 2025] mlx5_core 0000:41:00.0: Port module event[error]: module 0, Cable error\n",
    "turbostat": "Core\tCPU\tAvg_MHz\tBusy%\n-\t-\t2900\t99.50\n0\t0\t2901\t99.60\n",
    "ethtool  ": "NIC statistics:\n     rx_packets: 123456789\n     rx_errors: 0\n",
    "ping": "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.1 ms\n",
    "cyclictest": "T: 0 (12346) P:80 I:1000 C:  10000 Min:      1 Act:    2 Avg:    2 Max:      15\n",
    "nvidia-smi dmon": "# gpu   pwr gtemp\n# Idx     W     C\n    0    65    34\n    1    64    35\n",
    "numastat": "                node0   node1\nnuma_hit      182277    92312\nnuma_miss          0        0\n",
    "a list of packages": "rdma-core-50.0-1.el9.x86_64\nfio-3.35-1.el9.x86_64\nperftest-23.10.0-1.el9.x86_64\n",
    "a list of packages ": "ii  perftest  23.10.0-1  amd64  Infiniband verbs performance tests\n",
    "iperf": "[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-1.00   sec  1.1 GBytes  9.4 Gbits/sec\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_output_of_another_tool_is_refused_by_its_name(name: str) -> None:
    for form in ("auto", *FORMATS):
        with pytest.raises(UsageError) as refused:
            read_matrix(OTHERS[name], form)
        if form in ("auto", "csv"):
            assert isinstance(refused.value, NotPairs) or name.strip() in refused.value.what
    output = recognised(OTHERS[name])
    assert output is not None
    assert name.strip() in output.name
    assert output.remedy


@pytest.mark.parametrize(
    "text",
    [
        "Rate: 100 Gb/s\nState: active\n",  # words of ibstat alone
        "0: 4096 <B> mtu\n",
        "8:00 Ethernet controller: 5 of 7\n",
        "n1.rate = 5\n",
        "[Mon Sep  1 10:01:13 2025] n1 9.4 GB/s\n",
        "| node | CPI STAT B |\n| n1 | 5 |\n",
        "node CPU avg_MHz\nn1 0 2900\n",
        "Fan2A | 3 | 5\n",
        "[UCX 1700000000.314159] eager\n",
        "Timing of all disk reads: 12 s\n64 bytes sent, 10 ack, total time 2 s\n",
        "The stage has 5 iterations of ReFrame: [FAILED] 2 of 11\nSTREAM copy is slow; 10 bytes were copied\n",
        "node,kernel\nn1,kernel-4.18.0-1.el8.x86_64\nn2,kernel-4.18.0-1.el8.x86_64\n",
        "node,numa_hit\nn1,5000\nn2,6000\n",
        "fio-3.35-1.el9.x86_64\n",
        "node,ping_ms,Path\nn1,0.12,a\nn2,0.11,a\nLinux (n3) was not reached\n",
    ],
)
def test_words_of_a_tool_in_another_text_are_no_output_of_it(text: str) -> None:
    assert recognised(text) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_rows_without_their_heading_are_refused(place: int) -> None:
    """Message sizes and repetitions: with commas, they look like lines of two ranks and two numbers."""
    separators = (",", " ", ";")
    rows = "\n".join(separators[place].join(line.split()) for line in IMB_ROWS.splitlines())
    for form in ("auto", *FORMATS):
        with pytest.raises(UsageError):
            read_matrix(rows, form)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gzip.compress(csv(SMALL).encode()), "compressed with gzip.*zcat"),
        (bz2.compress(csv(SMALL).encode()), "compressed with bzip2"),
        (lzma.compress(csv(SMALL).encode()), "compressed with xz"),
        (b"\x28\xb5\x2f\xfd\0" * 9, "compressed with zstd"),
        (b"PK\x03\x04\0" * 9, "compressed with zip"),
        (csv(SMALL).encode("utf-16"), "UTF-16.*iconv"),
        (csv(SMALL).encode("utf-16-le"), "binary"),
        (random.Random(1).randbytes(4096), "binary"),
    ],
)
def test_files_that_are_not_text(content: bytes, said: str, tmp_path: Path, seatrial: Seatrial) -> None:
    (tmp_path / "file").write_bytes(content)
    assert re.search(said, seatrial("judge", str(tmp_path / "file"), code=64).err)
    if content.strip():
        with pytest.raises(UsageError, match=said):
            parse_auto(content.decode("utf-8", errors="replace"))


@pytest.mark.parametrize(
    "text",
    [
        csv(SMALL).replace("\n", "\r\n"),
        "\ufeff" + csv(SMALL),
        csv(SMALL).replace(",", ";"),
        csv(SMALL).replace(",", "\t"),
        csv(SMALL).replace(",", "  "),
        "# measured on Monday\n" + nxnlatbw(SMALL),
        "rank,rank,latency_us,bandwidth_mb_s\n" + nxnlatbw(SMALL),
    ],
)
def test_other_separators_and_ends_of_lines_give_the_same_numbers(text: str) -> None:
    table = read_matrix(text)
    assert table.pairs == 56
    assert table.bandwidth_bytes_per_s.max() == pytest.approx(max(SMALL.bandwidth_bytes_per_s.values()), rel=1e-6)
    assert table.latency_s.max() == pytest.approx(max(SMALL.latency_s.values()), rel=1e-4)


def test_decimal_commas_give_the_same_numbers_where_a_line_names_the_columns() -> None:
    german = read_matrix(csv(SMALL).replace(",", ";").replace(".", ","))
    table = read_matrix(csv(SMALL))
    assert german.nodes == table.nodes
    assert german.bandwidth_bytes_per_s.tolist() == table.bandwidth_bytes_per_s.tolist()
    assert german.latency_s.tolist() == table.latency_s.tolist()
    with pytest.raises(UsageError):
        read_matrix(nxnlatbw(SMALL).replace(",", ";").replace(".", ","))


def test_columns_in_another_order_are_not_taken_for_the_usual_one() -> None:
    rows = "".join(f"{a},{b},{1000 + a},{1 + b}\n" for a in range(4) for b in range(4) if a != b)
    table = read_matrix("i,j,bw_gb_s,latency_ns\n" + rows)
    assert table.bandwidth_bytes_per_s.max() == 1003e9
    assert table.latency_s.max() == pytest.approx(4e-9)


@pytest.mark.parametrize(
    "heading", ["size,count,latency_us", "rank,core,bw_mb_s", "node,number,platform", "n1,thread,time", "x,y,time_s"]
)
def test_a_heading_that_does_not_name_two_ends_is_refused(heading: str) -> None:
    rows = "".join(f"{a},{b},{10 + a}\n" for a in range(6) for b in range(6) if a != b)
    with pytest.raises(UsageError, match=r"does not name the columns|no number|describe a pair"):
        read_matrix(f"{heading}\n{rows}")


@pytest.mark.parametrize("made", [csv, nxnlatbw])
def test_a_truncated_table_passes_for_nothing(made: Callable[[Any], str]) -> None:
    text, read = made(SMALL), 0
    for seed in range(20):
        cut = text[: random.Random(seed).randrange(len(text) - 3)]
        with contextlib.suppress(UsageError):
            located = locate_in_table(read_matrix(cut), (), None)
            assert located.verdict is not Verdict.PASS
            assert not located.faults
            read += 1
    assert read, "some cuts leave a table"


def test_two_tables_in_one_file_are_repetitions_and_another_output_is_refused() -> None:
    assert read_matrix(csv(SMALL) + csv(SMALL)).pairs == 56
    assert read_matrix(nxnlatbw(SMALL) + nxnlatbw(SMALL)).pairs == 56
    prose = "".join(f"iteration {step} of the solver took {step / 7:.2f} s\n" for step in range(60))
    with pytest.raises(UsageError, match=r"Only 56 of 11[67] lines"):
        read_matrix(csv(SMALL) + prose)
    with pytest.raises(NotPairs):
        read_matrix(OTHERS["Intel MPI"] + nxnlatbw(SMALL).replace("\n", "\n# Benchmarking\nx y z w\n"))


WORDS = st.sampled_from(
    ["Size", "bytes", "time", "latency", "bw", "bandwidth", "MB/s", "rate", "rank", "node", "host", "from", "to", "a",
     "b", "i", "j", "source", "target", "#", "Mbytes/sec", "threads", "iteration", "t[usec]", "count", "core"]
)  # fmt: skip
CELLS = st.one_of(
    st.integers(0, 20).map(str),
    st.integers(0, 12).map(lambda power: str(2**power)),
    st.floats(0.1, 1e5).map(lambda value: f"{value:.2f}"),
    st.sampled_from(["1000", "n1", "n2", "n3", "0", "-", "10:27:16", "1.5", "float", "sum", "PASSED"]),
)
COLUMN_KINDS = st.sampled_from(["sizes", "steps", "constant", "repetitions", "values", "names"])


@st.composite
def outputs(draw: st.DrawFn) -> str:
    """A benchmark's output: some prose, a heading, and columns such as sizes, steps, repetitions and values."""
    draw_values = random.Random(draw(st.integers(0, 1 << 30)))
    lines = draw(st.integers(4, 60))
    separator = draw(st.sampled_from([",", " ", ";", "\t", ", ", "   "]))
    columns = []
    kinds = st.lists(COLUMN_KINDS, min_size=2, max_size=6)
    for kind in draw(kinds.filter(lambda kinds: kinds.count("names") < 2)):  # two make it a table of pairs
        level = draw_values.uniform(1, 1e4)
        columns.append(
            {
                "sizes": [str(2**line) for line in range(lines)],
                "steps": [str(line) for line in range(lines)],
                "constant": ["1000"] * lines,
                "repetitions": [str(max(1000 >> line // 4, 1)) for line in range(lines)],
                "values": [f"{draw_values.gauss(level, level / 1000):.2f}" for _ in range(lines)],
                "names": [f"n{draw_values.randrange(9)}" for _ in range(lines)],
            }[kind]
        )
    heading = draw(st.lists(WORDS, min_size=0, max_size=6))
    prose = draw(st.lists(st.lists(st.one_of(WORDS, CELLS), max_size=7).map(" ".join), max_size=4))
    rows = [separator.join(row) for row in zip(*columns, strict=True)]
    return "\n".join([*prose, *([separator.join(heading)] if heading else []), *rows]) + "\n"


@settings(max_examples=examples(150), deadline=None)
@given(outputs(), st.sampled_from(["auto", "csv", "nxnlatbw", "linktest", "mpigraph"]))
def test_the_output_of_any_benchmark_is_never_a_pass(text: str, form: str) -> None:
    try:
        table = read_matrix(text, form)
    except UsageError:
        return
    assert locate_in_table(table, (), None).verdict is not Verdict.PASS


def test_one_number_for_all_pairs_is_no_measurement() -> None:
    lines = [f"n{a},n{b},{{}}" for a in range(5) for b in range(5) if a != b]
    heading = "source,target,bandwidth_mb_s\n"
    with pytest.raises(UsageError, match="All 20 values are the same"):
        read_matrix(heading + "\n".join(line.format(4096) for line in lines), "auto")
    assert read_matrix(heading + "\n".join(line.format(117.0 + number % 2) for number, line in enumerate(lines))).pairs
    assert read_matrix(heading + "\n".join(line.format(0) for line in lines)).pairs
