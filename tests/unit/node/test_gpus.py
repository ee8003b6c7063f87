"""GPUs from recorded outputs of nvidia-smi and rocm-smi, from amd-smi, and from damaged ones."""

import json
import random
from pathlib import Path

import pytest

from seatrial.model.facts import Gpu
from seatrial.node.amd_gpus import amd_gpus
from seatrial.node.frame import FactsFormatError
from seatrial.node.gpus import (
    LINK_ERRORS,
    LINKS,
    SMI,
    TOPOLOGY,
    attached_gpus,
    facts_from_smi,
    link_errors,
    link_rates,
    nvidia_gpus,
    pci_address,
    read_gpus,
    topology_paths,
)
from tests.support.collecting import collect, program
from tests.support.paths import DATA

FOLDER = DATA / "gpu"
TOPO = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tPXB\tSYS\t0-31\t0\t\tN/A
GPU1\tNV12\t X \tSYS\tPXB\t32-63\t1\t\tN/A
NIC0\tPXB\tSYS\t X \tSYS
NIC1\tSYS\tPXB\tSYS\t X

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
OLD_TOPO = "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tPIX\t0-15\nmlx5_0\tPIX\t X \n"
ERRORS = """\
GPU 0: NVIDIA A100 (UUID: GPU-1)
\t Link 0: Replay Errors: 0
\t Link 0: CRC Errors: 3
\t Link 1: Replay Errors: 2
\t Link 1: CRC Errors: 4
"""


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def test_a_recorded_a100_with_instances() -> None:
    (gpu,) = nvidia_gpus(text_of("a100-sxm4-v12.xml"), links=text_of("nvlink-status-a100.txt").splitlines())
    assert (gpu.address, gpu.index, gpu.name, gpu.driver) == ("0000:01:00.0", 0, "NVIDIA A100-SXM4-80GB", "535.54.03")
    assert (gpu.mig, gpu.persistence, gpu.ecc) == (True, False, True)
    assert (gpu.link_generation, gpu.link_width, gpu.link_width_max) == (4, 16, 16)
    assert (gpu.uncorrected_errors, gpu.repair_pending, gpu.reset_required) == (0, None, False)
    assert (gpu.power_limit_w, gpu.clock_max_hz, gpu.memory_bytes) == (500.0, 1.41e9, 81920 << 20)
    assert gpu.nvlinks == (25e9,) * 12
    assert gpu.under_load


def test_a_text_of_one_gpu_says_how_many_there_are() -> None:
    facts = facts_from_smi(text_of("a100-sxm4-v12.xml"), "n1")
    assert (len(facts.gpus), facts.attached_gpus) == (1, 4)


def test_a_recorded_t4_of_an_earlier_schema() -> None:
    (gpu,) = nvidia_gpus(text_of("tesla-t4.xml"))
    assert (gpu.name, gpu.link_width, gpu.link_width_max, gpu.use) == ("Tesla T4", 8, 16, 0.0)
    assert (gpu.power_limit_w, gpu.slowdowns) == (70.0, ())


def test_a_recorded_card_of_amd() -> None:
    (gpu,) = amd_gpus("", "", "WARNING: chat\n" + text_of("vega-20-WKS-GL-XE.json"))
    assert (gpu.address, gpu.name, gpu.driver) == ("0000:63:00.0", "Radeon Instinct MI50 32GB", "5.9.17")
    assert (gpu.link_generation, gpu.link_width, gpu.power_limit_w) == (4, 16, 225.0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_amd_smi_is_read_before_rocm_smi(*, wrapped: bool) -> None:
    static = [{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"},
               "vram": {"size": {"value": 196592, "unit": "MB"}},
               "bus": {"bdf": "0000:0C:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
               "driver": {"name": "amdgpu", "version": "6.10.5"}}]  # fmt: skip
    metric = [{"gpu": 0, "usage": {"gfx_activity": {"value": 55, "unit": "%"}}, "ecc": {"total_uncorrectable_count": 1},
               "pcie": {"width": 8, "speed": {"value": 16, "unit": "GT/s"}}}]  # fmt: skip
    static_text, metric_text = (json.dumps({"gpu_data": each} if wrapped else each) for each in (static, metric))
    (gpu,) = amd_gpus(static_text, metric_text, text_of("vega-20-WKS-GL-XE.json"))
    assert (gpu.address, gpu.name, gpu.use) == ("0000:0c:00.0", "AMD Instinct MI300X", 0.55)
    assert (gpu.link_generation, gpu.link_generation_max, gpu.link_width, gpu.link_width_max) == (4, 5, 8, 16)
    assert (gpu.uncorrected_errors, gpu.memory_bytes) == (1, 196592 << 20)


def test_words_for_what_is_not_reported_are_unknown() -> None:
    for word in ("N/A", "[Not Supported]", "ERR!", "Unknown Error", "[Unknown Error]", "GPU is lost"):
        text = text_of("tesla-t4.xml").replace("70.00 W", word).replace("<gpu_util>0 %", f"<gpu_util>{word}")
        (gpu,) = nvidia_gpus(text)
        assert (gpu.power_limit_w, gpu.use) == (None, None)


def test_paths_have_the_names_of_the_legend_and_no_colours() -> None:
    assert topology_paths(TOPO.splitlines()) == {
        "GPU0": {"GPU1": "NV12", "mlx5_0": "PXB", "mlx5_1": "SYS"},
        "GPU1": {"GPU0": "NV12", "mlx5_0": "SYS", "mlx5_1": "PXB"},
    }
    assert topology_paths(OLD_TOPO.splitlines()) == {"GPU0": {"mlx5_0": "PIX"}}


def test_links_and_their_errors() -> None:
    text = "GPU 0: A (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\nGPU 1: B\n\t Link 0: 25 GB/s\n"
    assert link_rates(text.splitlines()) == {0: (26.562e9, 0.0), 1: (25e9,)}
    assert link_errors(ERRORS.splitlines()) == {0: {"Replay Errors": 2, "CRC Errors": 7}}


@pytest.mark.parametrize(("text", "address"), [("00000000:C1:00.0", "0000:c1:00.0"), ("01:00.0", "0000:01:00.0"),
                                               ("00010000:01:00.0", "10000:01:00.0"), ("x", ""), ("", "")])  # fmt: skip
def test_addresses_are_those_of_the_kernel(text: str, address: str) -> None:
    assert pci_address(text) == address


def test_entities_and_other_documents_are_refused() -> None:
    text = text_of("tesla-t4.xml")
    bomb = text.replace("<!DOCTYPE nvidia_smi_log", '<!DOCTYPE x [<!ENTITY a "b">]><!DOCTYPE nvidia_smi_log')
    for broken in (bomb, text[: len(text) // 2], "<nvidia_smi_log></nvidia_smi_log>", "<a><nvidia_smi_log/></a>"):
        assert nvidia_gpus(broken) == ()
        with pytest.raises(FactsFormatError):
            facts_from_smi(broken, "n1")


def test_no_prefix_and_no_change_of_a_text_crashes_a_parser() -> None:
    chosen = random.Random(1)
    xml, rocm = text_of("tesla-t4.xml"), text_of("vega-20-WKS-GL-XE.json")
    for _ in range(150):
        cut = chosen.randrange(len(xml))
        nvidia_gpus(xml[:cut] + chosen.choice(("", "9" * 400, "<", "\0", "]]>")) + xml[cut + chosen.randrange(9) :])
        cut = chosen.randrange(len(rocm))
        amd_gpus(rocm, rocm, rocm[:cut] + chosen.choice(("", "9" * 400, "[", "null", "{}")) + rocm[cut + 3 :])
        cut = chosen.randrange(len(TOPO))
        topology_paths((TOPO[:cut] + chosen.choice("\t GPU0N") + TOPO[cut:]).splitlines())
    for content in ('[1, {}, {"gpu": null}]', '{"card0": 3}', '{"card0": {"PCI Bus": 7}}', "[" * 5000):
        assert amd_gpus(content, content, content) == ()


def test_the_collector_reads_them_without_serial_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    smi = (
        'case "$*" in\n"-q -x") cat "$SMI_FOLDER/tesla-t4.xml" ;;\n"topo -m") cat "$SMI_FOLDER/topo.txt" ;;\n'
        '"nvlink -s") cat "$SMI_FOLDER/nvlink-status-a100.txt" ;;\n*) exit 3 ;;\nesac'
    )
    program(folder, "nvidia-smi", smi)
    (tmp_path / "topo.txt").write_text(OLD_TOPO)
    for name in ("tesla-t4.xml", "nvlink-status-a100.txt"):
        (tmp_path / name).write_text(text_of(name))
    monkeypatch.setenv("SMI_FOLDER", str(tmp_path))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    frame = collect("/", SEATRIAL_FACTS="full")
    (gpu,), why = read_gpus(frame)
    assert (gpu.name, len(gpu.nvlinks), gpu.paths, why) == ("Tesla T4", 12, {"mlx5_0": "PIX"}, {})
    assert attached_gpus(frame) == 1
    kept = "\n".join(line for name in (SMI, TOPOLOGY, LINKS, LINK_ERRORS) for line in frame.commands[name].lines)
    assert "uuid" not in kept.lower()
    assert "<serial>" not in kept
    assert "supported_clocks" not in kept
    quick = collect("/", SEATRIAL_FACTS="quick")
    assert read_gpus(quick) == ((), {"gpus": read_gpus(quick)[1]["gpus"]})


def test_a_gpu_without_a_number_has_its_address_as_a_name() -> None:
    assert Gpu(address="0000:01:00.0").label == "GPU 0000:01:00.0"
    assert Gpu(address="0000:01:00.0", index=3).label == "GPU 3"


def smi(*gpus: str, behind: str = "") -> str:
    body = "".join(f'<gpu id="00000000:{place + 27:X}:00.0">{each}</gpu>' for place, each in enumerate(gpus))
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n'
    return f"{head}<nvidia_smi_log>{body}</nvidia_smi_log>\n{behind}"


def test_a_lost_gpu_without_power_is_read_as_lost() -> None:
    lost = "<product_name>GPU is lost</product_name><persistence_mode>GPU is lost</persistence_mode>"
    good, gone = nvidia_gpus(smi("<product_name>NVIDIA H100</product_name>", lost))
    assert (good.name, good.lost, gone.name, gone.lost, gone.persistence) == ("NVIDIA H100", False, "", True, None)


def test_lines_around_the_xml_are_passed_over() -> None:
    why = "Unable to determine the device handle for GPU0000:2B:00.0: Unknown Error\n"
    assert len(nvidia_gpus(why + smi("<product_name>NVIDIA H100</product_name>", behind=why))) == 1


@pytest.mark.parametrize(("action", "required"), [("None", False), ("Reset", True), ("Drain P2P", None)])
def test_later_drivers_name_an_action_in_place_of_the_reset(action: str, required: bool | None) -> None:
    deprecated = "Requested functionality has been deprecated"
    (gpu,) = nvidia_gpus(
        smi(
            f"<gpu_reset_status><reset_required>{deprecated}</reset_required></gpu_reset_status>"
            f"<gpu_recovery_action>{action}</gpu_recovery_action>"
        )
    )
    assert gpu.reset_required is required


def test_adapters_of_any_name_keep_their_own_column() -> None:
    text = "\tGPU0\tibp26s0\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\tPIX\t0-7\t0\n"
    assert topology_paths(text.splitlines()) == {"GPU0": {"ibp26s0": "SYS", "mlx5_0": "PIX"}}


def test_only_errors_of_links_count() -> None:
    lines = [
        "GPU 0: NVIDIA B200",
        "\t Link 0: Tx packets: 12",
        "\t Link 0: FEC Errors - 0: 9",
        "\t Link 0: Rx Errors: 2",
    ]
    assert link_errors(lines) == {0: {"Rx Errors": 2}}


def test_warnings_with_brackets_before_the_json_of_amd() -> None:
    cards = {"card0": {"PCI Bus": "0000:C1:00.0", "Card Series": "N/A", "Device Name": "AMD Instinct MI300X"}}
    (gpu,) = amd_gpus("", "", f"[WARN] low power {{card}}\n{json.dumps(cards)}\n")
    assert (gpu.address, gpu.name, gpu.lost) == ("0000:c1:00.0", "AMD Instinct MI300X", None)
    static = {"gpu": 0, "bus": {"bdf": "0000:05:00.0"}, "limit": {"ppt0": {"socket_power_limit": {"value": 750}}}}
    assert [each.power_limit_w for each in amd_gpus(json.dumps({"gpu_data": [static]}), "", "")] == [750.0]


@pytest.mark.parametrize(
    ("cluster", "joined"),
    [("N/A", None), ("00000000-0000-0000-0000-000000000000", False), ("4d6e5ffb-8b3c-4e5b-9b1a-1f0c2d3e4f5a", True)],
)
def test_a_fabric_with_the_number_of_a_cluster_reaches_other_nodes(cluster: str, joined: bool | None) -> None:
    text = text_of("a100-sxm4-v12.xml").replace("</fabric>", f"<clusterUuid>{cluster}</clusterUuid></fabric>")
    (gpu,) = nvidia_gpus(text)
    assert gpu.node_fabric is joined


@pytest.mark.parametrize(("word", "worn"), [("Yes", True), ("No", False), ("N/A", None)])
def test_the_threshold_of_errors_of_sram_is_read(word: str, worn: bool | None) -> None:
    aggregate = f"<aggregate><sram_threshold_exceeded>{word}</sram_threshold_exceeded></aggregate>"
    (gpu,) = nvidia_gpus(smi(f"<ecc_errors>{aggregate}</ecc_errors>"))
    assert gpu.sram_worn is worn


@pytest.mark.parametrize(
    ("state", "status", "bandwidth", "unhealthy", "faults"),
    [
        ("N/A", "N/A", "N/A", "N/A", ()),
        ("Completed", "Success", "Full", "False", ()),
        ("In Progress", "N/A", "N/A", "N/A", ()),
        ("Completed", "Success", "Degraded", "False", ("bandwidth degraded",)),
        ("Completed", "Success", "Full", "True", ("route unhealthy",)),
        ("Completed", "Invalid State", "N/A", "N/A", ("registration ended with Invalid State",)),
    ],
)
def test_what_the_fabric_of_nvlinks_reports(
    state: str, status: str, bandwidth: str, unhealthy: str, faults: tuple[str, ...]
) -> None:
    health = f"<bandwidth>{bandwidth}</bandwidth><route_unhealthy>{unhealthy}</route_unhealthy>"
    (gpu,) = nvidia_gpus(
        smi(f"<fabric><state>{state}</state><status>{status}</status><health>{health}</health></fabric>")
    )
    assert gpu.fabric_faults == faults


def test_violations_of_amd_that_are_active_are_slowdowns() -> None:
    throttle = {
        "accumulation_counter": 12, "prochot_violation_status": "NOT ACTIVE", "ppt_violation_status": "ACTIVE",
        "socket_thermal_violation_status": "ACTIVE", "vr_thermal_violation_status": "N/A",
        "socket_thermal_violation_activity": {"value": 0, "unit": "%"},
    }  # fmt: skip
    static, metric = {"gpu": 0, "bus": {"bdf": "0000:05:00.0"}}, {"gpu": 0, "throttle": throttle}
    (gpu,) = amd_gpus(json.dumps([static]), json.dumps([metric]), "")
    assert gpu.slowdowns == ("ppt_violation", "socket_thermal_violation")
    (gpu,) = amd_gpus(json.dumps([static]), json.dumps([{**metric, "throttle": "N/A"}]), "")
    assert gpu.slowdowns == ()
