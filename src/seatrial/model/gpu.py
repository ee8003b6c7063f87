"""GPUs of a node, as their drivers' own programs describe them without root."""

import msgspec


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. None and empty texts: the program does not report it. Serial numbers and UUIDs are left out."""

    address: str
    """domain:bus:device.function, 0000:01:00.0, as the kernel writes it."""
    index: int | None = None
    """Number among the GPUs of the node, as nvidia-smi or rocm-smi counts them."""
    name: str = ""
    driver: str = ""
    firmware: str = ""
    """Version of the firmware of its system processor (GSP), or of the SMC of an AMD GPU."""
    vbios: str = ""
    memory_bytes: int | None = None
    persistence: bool | None = None
    """Whether the driver keeps it initialised while no program uses it."""
    mig: bool | None = None
    """Whether it is divided into instances (MIG)."""
    ecc: bool | None = None
    corrected_errors: int | None = None
    """Memory errors that ECC corrected since the driver was loaded."""
    uncorrected_errors: int | None = None
    """Memory errors that ECC did not correct since the driver was loaded."""
    repair_pending: bool | None = None
    """Whether rows or pages of its memory wait for a reset to be replaced by spare ones."""
    repair_failed: bool | None = None
    """Whether spare rows are used up."""
    reset_required: bool | None = None
    lost: bool | None = None
    """Whether the driver lists it and cannot reach it: GPU is lost, Unknown Error."""
    link_generation: int | None = None
    """Present PCIe generation; an idle GPU lowers it."""
    link_generation_max: int | None = None
    """What both the GPU and the port above it can do."""
    link_width: int | None = None
    link_width_max: int | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    clock_max_hz: float | None = None
    clock_application_hz: float | None = None
    """Clock that is set for programs; None: not set, or not reported."""
    state: str = ""
    """Performance state: P0 is the fastest, P8 and above are idle."""
    use: float | None = None
    """Share of the last second in which a program ran on it, 0 to 1."""
    slowdowns: tuple[str, ...] = ()
    """Reasons for a lower clock that are active now, in nvidia-smi's words: hw_thermal_slowdown, sw_power_cap, ..."""
    temperature_celsius: float | None = None
    fabric_state: str = ""
    """State of its registration with the NVLink fabric: Completed, In Progress, Not Started."""
    node_fabric: bool | None = None
    """Whether its NVLinks reach the GPUs of other nodes: the fabric has the number of a cluster, which is not 0."""
    nvlinks: tuple[float, ...] = ()
    """Rate of each NVLink in one direction, bytes/s; 0: the link is inactive."""
    nvlink_errors: dict[str, int] = {}
    """Errors over all its NVLinks by kind: `Replay Errors`, `CRC Errors`, ..."""
    paths: dict[str, str] = {}
    """GPU or adapter -> the path to it in the words of `nvidia-smi topo`: NV12, PIX, PXB, PHB, NODE, SYS."""

    @property
    def label(self) -> str:
        """`GPU 3`, or its address where it has no number."""
        return f"GPU {self.address}" if self.index is None else f"GPU {self.index}"

    @property
    def under_load(self) -> bool:
        """Whether a program uses it: an idle GPU lowers clocks and the rate of its link."""
        return bool(self.use) or self.state in ("P0", "P1")
