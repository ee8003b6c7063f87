"""Scrubbed recordings: no name is left, the same name has the same stand-in, and all that is no name stays."""

import json
import re

import pytest

from seatrial.commands.facts.record import recording
from seatrial.driver.facts_reading import FactsRead
from seatrial.model.fabric import Fabric
from seatrial.node.node import parse_facts
from seatrial.recordings.recording import GATHER_FILE
from seatrial.recordings.scrub import scrub_fabric, scrubbed, stand_ins
from tests.support.builders import Cluster
from tests.support.fabrics import fabric_text

NAMES = (
    "virgo", "cn001", "cn002", "cn010", "login", "uni-x", "nfs1", "storage", "mgs0", "alice", "bob", "carol", "filer",
    "leaf-a1", "gpuq", "disk broken", "images",
)  # fmt: skip
"""Everything that a site would not want told."""


def stream(node: str) -> str:
    """As the collector prints it, which has put ADDRESS and UUID in place of addresses already."""
    host = f"{node}.virgo.uni-x.edu"
    return f"""\
#seatrial-facts 1 {host}
@value /proc/sys/kernel/hostname|{host}
@value /proc/sys/kernel/osrelease|5.14.0-70.el9.x86_64
@value /proc/sys/kernel/version|#1 SMP build@{node} 2026
@file /proc/cmdline
|root=/dev/mapper/rhel_{node}-root rd.luks.uuid=UUID nfsroot=images.uni-x.edu:/{node} repo=http://filer.uni-x.edu/
@end
@file /proc/mounts
|/dev/mapper/rhel_{node}-root / xfs rw,relatime 0 0
|nfs1.uni-x.edu:/export/home /home nfs4 rw,vers=4.2,hard,clientaddr=ADDRESS,addr=ADDRESS 0 0
|mgs0.uni-x.edu@o2ib:ADDRESS@o2ib1:/fs1 /lustre lustre rw,flock 0 0
|//filer/share /share cifs rw,domain=UNI,username=HIDDEN 0 0
|bob@{node}:/home/bob /home/alice/far fuse.sshfs rw 0 0
|storage:/nfs /data/{node} nfs rw,mountaddr=storage 0 0
|ldap:ou=auto.home,dc=uni-x,dc=edu /misc autofs rw 0 0
|tmpfs /run tmpfs rw,nosuid 0 0
@end
@value mount /home|yes
@value mount /home/alice/far|yes
@value reach /home/carol/data|no
@list /sys/class/net/*|eth0 veth-{node} nfs1x
@value /sys/class/net/veth-{node}/type|1
@value /sys/class/net/eth0/operstate|up
@value /sys/devices/system/cpu/cpufreq/governor|performance
@table /sys/devices/system/cpu/cpu[0-9]*/topology core_id physical_package_id thread_siblings_list
|0 0 0 0
@end
@absent sinfo --version|not installed
#end {host}
"""


OUTPUTS = {
    "sinfo.txt": "cn001|idle|gpuq*|none\ncn010|down|gpuq*|disk broken, ask alice\nlogin|idle|other|none\n",
    "sinfo-features.txt": "cn001|flat,virgo\ncn002|(null)\n",
    "scontrol-show-topology.txt": "SwitchName=leaf-a1 Level=0 LinkSpeed=1 Nodes=cn[001-002]\n",
    "ibnetdiscover.txt": (
        "# Initiated from node e09d730300156ff6 port e09d730300156ff6\n"
        'Switch\t65 "S-2c5eab0300b87b40"\t\t# "MF0;leaf-a1:MQM9701/U1" enhanced port 0 lid 73 lmc 0\n'
        '[1]\t"H-e09d730300156ff6"[1](e09d730300156ff6) \t\t# "cn001 mlx5_5" lid 647 4xNDR\n'
        '[2]\t"H-e09d730300859298"[1](e09d730300859298) \t\t# "filer HCA-1" lid 641 4xNDR\n'
        '[3]\t"H-e09d730300858270"[1](e09d730300858270) \t\t# "MT4129 ConnectX7   Mellanox Technologies" lid 2 4xNDR\n'
    ),
}
READ = FactsRead(
    facts={},
    texts={node: stream(node) for node in ("cn010", "cn001", "cn002")},
    silent={"cn011": "cn011 did not answer alice"},
    features={"cn001": ("flat", "virgo")},
    launcher="slurm",
    cluster="virgo",
    fabric=Fabric(leaf_of={"cn001": "leaf-a1", "cn002": "leaf-a1"}, source="Slurm"),
)


def written(*, scrub: bool = True) -> dict[str, str]:
    _, files = recording(READ, OUTPUTS, "2026-11-21T10:00:00Z", scrub=scrub, user="carol")
    return files


def test_no_name_is_left() -> None:
    everything = "\n".join(f"{name}\n{text}" for name, text in written().items())
    found = [name for name in NAMES if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", everything, re.IGNORECASE)]
    assert found == []
    before = "\n".join(f"{name}\n{text}" for name, text in written(scrub=False).items())
    assert [name for name in NAMES if name not in before] == []  # or the test would prove nothing


def test_what_is_no_name_stays() -> None:
    text = written()["n1.facts"]
    assert text.splitlines()[:6] == [
        "#seatrial-facts 1 n1",
        "@value /proc/sys/kernel/hostname|n1",
        "@value /proc/sys/kernel/osrelease|5.14.0-70.el9.x86_64",
        "@value /proc/sys/kernel/version|#1 SMP build@n1 2026",
        "@file /proc/cmdline",
        "|root=/dev/mapper/rhel_n1-root rd.luks.uuid=UUID nfsroot=server2:/n1 repo=http://server1/",
    ]
    assert text.splitlines()[8:14] == [
        "|/dev/mapper/rhel_n1-root / xfs rw,relatime 0 0",
        "|server3:/export/home /home nfs4 rw,vers=4.2,hard,clientaddr=HIDDEN,addr=HIDDEN 0 0",
        "|server4@o2ib:ADDRESS@o2ib1:/fs1 /lustre lustre rw,flock 0 0",
        "|//server1/share /share cifs rw,domain=HIDDEN,username=HIDDEN 0 0",
        "|user2@n1:/home/user2 /home/user3/far fuse.sshfs rw 0 0",
        "|server6:/nfs /data/n1 nfs rw,mountaddr=HIDDEN 0 0",
    ]
    assert "@value /sys/class/net/veth-n1/type|1" in text
    assert "@list /sys/class/net/*|eth0 veth-n1 nfs1x" in text
    assert "governor|performance" in text


def test_names_are_numbered_in_natural_order_and_silent_nodes_count() -> None:
    files = written()
    assert sorted(files) == [
        GATHER_FILE, "n1.facts", "n2.facts", "n3.facts", "raw/ibnetdiscover.txt", "raw/scontrol-show-topology.txt",
        "raw/sinfo-features.txt", "raw/sinfo.txt",
    ]  # fmt: skip
    gathered = json.loads(files[GATHER_FILE])
    assert set(gathered["nodes"]) == {"n1", "n2", "n3"}
    assert gathered["silent"] == {"n4": "n4 did not answer user3"}
    assert gathered["features"] == {"n1": ["flat", "cluster"]}
    assert (gathered["cluster"], gathered["scrubbed"]) == ("cluster", True)
    assert files["raw/sinfo.txt"] == "n1|idle|p1*|none\nn3|down|p1*|HIDDEN\nn5|idle|p2|none\n"
    assert files["raw/scontrol-show-topology.txt"] == "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"


def test_scrubbed_facts_are_the_same_facts() -> None:
    raw, clean = parse_facts(stream("cn001")), parse_facts(written()["n1.facts"])
    assert clean.hostname == "n1"
    assert len(clean.system.mounts) == len(raw.system.mounts)
    assert [mount.kind for mount in clean.system.mounts] == [mount.kind for mount in raw.system.mounts]
    assert (clean.processors, clean.kernel, clean.complete) == (raw.processors, raw.kernel, True)


def test_unscrubbed_is_raw() -> None:
    files = written(scrub=False)
    assert files["cn001.facts"] == stream("cn001")
    assert files["raw/sinfo.txt"] == OUTPUTS["sinfo.txt"]


@pytest.mark.parametrize("host", ["node1", "cpu0", "performance", "eth", "nfs", "0", "tmpfs", "up", "n2", "node"])
def test_a_host_whose_name_is_a_word_of_the_kernel_spoils_no_facts(host: str) -> None:
    text = Cluster(nodes=(host,)).facts_text(host)
    text = text.replace(
        "#end", "@value /sys/devices/system/node/online|0\n@value /sys/devices/system/node/node1/cpulist|0\n#end"
    )
    clean = scrubbed(text, stand_ins({host: text}, [host]))
    assert clean.startswith("#seatrial-facts 1 n1\n") and clean.endswith("#end n1\n")
    raw, left = parse_facts(text), parse_facts(clean)
    assert left.interfaces == raw.interfaces
    assert left.numa_nodes == raw.numa_nodes
    assert "@value /sys/devices/system/node/node1/cpulist|0\n" in clean


def test_one_name_is_no_part_of_another() -> None:
    texts = {node: Cluster(nodes=(node,)).facts_text(node) for node in ("n10", "n1", "n2")}
    known = stand_ins(texts, [])
    assert {node: known.of(node) for node in texts} == {"n1": "n1", "n2": "n2", "n10": "n3"}
    assert known.everywhere("n10 n1 n100 xn1 n1-ib0 n10.n1") == "n3 n1 n100 xn1 n1-ib0 n3.n1"


def test_a_node_that_slurm_calls_otherwise_has_one_stand_in() -> None:
    known = stand_ins({"a7": "#seatrial-facts 1 host-7.x.org\n", "a8": "#seatrial-facts 1 host-8\n"}, ["a7", "a9"])
    assert [known.of(name) for name in ("a7", "host-7", "host-7.x.org", "a8", "host-8", "a9")] == [
        "n1", "n1", "n1", "n2", "n2", "n3",
    ]  # fmt: skip


def test_a_generated_fabric_keeps_its_shape_and_loses_its_names() -> None:
    text = fabric_text("6 leaves x 8 hosts, 2 spines, 4xHDR").replace('"n', '"virgo').replace("leaf", "leaf-a")
    clean = scrub_fabric(text, stand_ins({}, []))
    assert len(clean.splitlines()) == len(text.splitlines())
    assert "virgo" in text and not re.search(r"virgo|leaf-a|spine1", clean)
    guid = r'"([SH])-[0-9a-f]{16}"'
    assert re.findall(guid, clean) == re.findall(guid, text)
    assert len(set(re.findall(r'"[SH]-([0-9a-f]{16})"', clean))) == 48 + 8
