"""The hardware that a virtual node lacks, as /sys would show it: made up, constant, alike on every host of a lab. Pure.

Paths begin at the root, as on a real machine; the values are those of a server of about 2018.
"""

from collections.abc import Iterable

PROCESSOR = "/sys/devices/system/cpu/cpu{number}/cpufreq"
GOVERNOR = "performance"
LOWEST_KHZ = 1_200_000
HIGHEST_KHZ = 3_400_000

DMI = "/sys/class/dmi/id"
BIOS_VERSION = "2.4.1"
BIOS_DATE = "03/14/2023"

ROOT_COMPLEX = "pci0000:40"
ROOT_PORT = "0000:40:01.0"
CARD = "0000:41:00.0"
CARDS = (CARD, "0000:41:00.1")
"""One function of the card for each of its ports, and with it for each rail."""
ROOT_PORT_FOLDER = f"/sys/devices/{ROOT_COMPLEX}/{ROOT_PORT}"
LINK_SPEED = "8.0 GT/s PCIe"
LINK_WIDTH = 8

ZONE = "/sys/class/thermal/thermal_zone0"
MILLICELSIUS = 61_000

BASE_SLICE_FILE = "/sys/kernel/debug/sched/base_slice_ns"
BASE_SLICE_NS = 2_800_000
"""What Linux 6.6 and later choose on eight processors and more: 0.7 ms times 1 + log2(8), kernel/sched/fair.c."""


def base_files(processors: Iterable[int], rails: int = 1) -> dict[str, str]:
    """Path -> content of every made-up file, for a machine with the processors of these numbers."""
    contents = {**firmware_files(BIOS_VERSION, BIOS_DATE), **card_files(rails), BASE_SLICE_FILE: str(BASE_SLICE_NS)}
    contents["/sys/devices/system/cpu/cpufreq/boost"] = "1"
    contents |= {f"{ZONE}/type": "x86_pkg_temp", f"{ZONE}/temp": str(MILLICELSIUS)}
    for number in processors:
        contents |= frequency_files(number)
    return {path: f"{content}\n" for path, content in contents.items()}


def governor_files(processors: Iterable[int], governor: str) -> dict[str, str]:
    """The governor of every processor."""
    return {f"{PROCESSOR.format(number=number)}/scaling_governor": f"{governor}\n" for number in processors}


def width_files(lanes: int, rails: int = 1) -> dict[str, str]:
    """How many lanes of the card's link work, as both of its ends see it."""
    folders = (ROOT_PORT_FOLDER, *(f"{ROOT_PORT_FOLDER}/{card}" for card in CARDS[:rails]))
    return {f"{folder}/current_link_width": f"{lanes}\n" for folder in folders}


def frequency_files(number: int) -> dict[str, str]:
    """cpufreq of one processor: acpi-cpufreq, since its governors do what their names say; frequencies in kHz."""
    contents = {
        "scaling_driver": "acpi-cpufreq",
        "scaling_governor": GOVERNOR,
        "scaling_available_governors": "performance powersave schedutil",
        "scaling_min_freq": LOWEST_KHZ,
        "scaling_max_freq": HIGHEST_KHZ,
        "scaling_cur_freq": HIGHEST_KHZ,
        "cpuinfo_min_freq": LOWEST_KHZ,
        "cpuinfo_max_freq": HIGHEST_KHZ,
    }
    return {f"{PROCESSOR.format(number=number)}/{name}": str(content) for name, content in contents.items()}


def firmware_files(version: str, date: str) -> dict[str, str]:
    """What the firmware reports; the vendor's name shows that the hardware does not exist."""
    contents = {
        "sys_vendor": "Seatrial",
        "product_name": "Lab Node",
        "board_vendor": "Seatrial",
        "board_name": "Lab Board",
        "bios_vendor": "Seatrial",
        "bios_version": version,
        "bios_date": date,
    }
    return {f"{DMI}/{name}": content for name, content in contents.items()}


SECOND_MODEL = {f"{DMI}/product_name": "Lab Node of another year"}
"""Nodes with another design rate are other machines, as on real sites, and no failed links."""


def card_files(rails: int = 1) -> dict[str, str]:
    """An Ethernet card (Intel X710 10GBASE-T) behind a root port (Intel Skylake-SP), PCIe 3.0 x8 both: pci.ids."""
    link = {
        "vendor": "0x8086",
        "numa_node": "0",
        "current_link_speed": LINK_SPEED,
        "max_link_speed": LINK_SPEED,
        "current_link_width": str(LINK_WIDTH),
        "max_link_width": str(LINK_WIDTH),
    }
    port = {**link, "class": "0x060400", "device": "0x2030"}
    card = {**link, "class": "0x020000", "device": "0x15ff"}
    return {
        **{f"{ROOT_PORT_FOLDER}/{name}": content for name, content in port.items()},
        **{f"{ROOT_PORT_FOLDER}/{each}/{name}": content for each in CARDS[:rails] for name, content in card.items()},
    }


def bus_links(rails: int = 1) -> dict[str, str]:
    """Path -> target of the links by which the bus lists port and card."""
    port = f"../../../devices/{ROOT_COMPLEX}/{ROOT_PORT}"
    cards = {f"/sys/bus/pci/devices/{card}": f"{port}/{card}" for card in CARDS[:rails]}
    return {f"/sys/bus/pci/devices/{ROOT_PORT}": port, **cards}


def base_links(rails: int = 1) -> dict[str, str]:
    """All links: those of the bus, the drivers, and each rail as an interface of the card."""
    links = {**bus_links(rails), f"{ROOT_PORT_FOLDER}/driver": "../../../bus/pci/drivers/pcieport"}
    for number, card in enumerate(CARDS[:rails]):
        folder, rail = f"{ROOT_PORT_FOLDER}/{card}", f"eth{number}"
        links |= {
            f"{folder}/driver": "../../../../bus/pci/drivers/i40e",
            f"/sys/class/net/{rail}": f"../../devices/{ROOT_COMPLEX}/{ROOT_PORT}/{card}/net/{rail}",
            f"{folder}/net/{rail}/device": f"../../../{card}",
        }
    return links


BASE_FOLDERS = ("/sys/bus/pci/drivers/pcieport", "/sys/bus/pci/drivers/i40e")
"""Targets of the drivers' links."""
