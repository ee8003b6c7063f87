"""Which suspects can be taken back, where, and with which values; everything else is left alone."""

from dataclasses import dataclass

import msgspec
import pytest

from seatrial.judgement.comparison.records import ChangedFact, FileSetting, Suspect
from seatrial.judgement.comparison.reversible import MPI_FILES, Reversal, reversal_of
from seatrial.model.facts import NodeFacts
from tests.support.facts_examples import server

SOFTWARE = "software.mpi_settings"


@dataclass(frozen=True)
class Case:
    fact: str
    before: str | int | None
    after: str | int | None


def suspect(*cases: Case, nodes: tuple[str, ...] = ("n2", "n3")) -> Suspect:
    facts = tuple(ChangedFact(fact=each.fact, before=each.before, after=each.after) for each in cases)
    return Suspect(
        facts=facts, nodes=nodes, of=4, weight=50, mechanism="", slower_nodes=1, all_slower=1, p_value=None,
        adjusted_p=None,
    )  # fmt: skip


def taken_back(*cases: Case) -> Reversal | str:
    facts = {name: server(name) for name in ("n2", "n3")}
    return reversal_of(suspect(*cases), facts, facts, "n3")


@pytest.mark.parametrize(
    ("case", "nodes", "place", "content"),
    [
        (Case("interfaces.ib0.mtu_bytes", 4092, 2044), ("n2", "n3"), "/sys/class/net/ib0/mtu", ("2044", "4092")),
        (
            Case("settings.scheduler.base_slice_ns", "2800000", "24000000"),
            ("n3",), "/sys/kernel/debug/sched/base_slice_ns", ("24000000", "2800000"),
        ),
        (
            Case("settings.sysctls.net.ipv4.tcp_rmem", "4096 1 2", "4096 1 1"),
            ("n3",), "/proc/sys/net/ipv4/tcp_rmem", ("4096 1 1", "4096 1 2"),
        ),
        (
            Case("settings.transparent_huge_pages", "madvise", "always"),
            ("n3",), "/sys/kernel/mm/transparent_hugepage/enabled", ("always", "madvise"),
        ),
        (
            Case("processor.governors", "performance × 2", "powersave × 2"),
            ("n3",), "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", ("powersave", "performance"),
        ),
    ],
)  # fmt: skip
def test_a_setting_of_a_node(case: Case, nodes: tuple[str, ...], place: str, content: tuple[str, str]) -> None:
    """An MTU matters at both ends; of the others one node is enough, the slowest."""
    found = taken_back(case)
    assert isinstance(found, Reversal)
    (setting,) = found.files
    assert (found.nodes, setting.places[0][0]) == (nodes, place)
    assert (setting.present, setting.earlier) == content


def test_every_processor_has_a_file_of_its_own() -> None:
    found = taken_back(Case("processor.governors", "performance × 3", "powersave × 3"))
    assert isinstance(found, Reversal)
    assert [path.split("/")[5] for path in found.files[0].places[0]] == ["cpu0", "cpu1", "cpu2"]


def test_settings_of_mpi_change_in_the_job_alone() -> None:
    found = taken_back(Case(f"{SOFTWARE}.btl_tcp_sndbuf", None, "4096"), Case(f"{SOFTWARE}.UCX_TLS", "rc", "tcp"))
    assert isinstance(found, Reversal)
    assert (found.files, found.environment) == ((), {MPI_FILES: "/dev/null", "UCX_TLS": "rc"})
    assert MPI_FILES.startswith("OMPI_MCA_")


def test_a_parameter_that_was_added_takes_the_others_along() -> None:
    before = server("n2")
    software = msgspec.structs.replace(before.software, mpi_settings={"btl": "tcp,self", "UCX_TLS": "rc"})
    facts = {"n2": msgspec.structs.replace(before, software=software)}
    changed = suspect(Case(f"{SOFTWARE}.btl_tcp_sndbuf", None, "4096"), nodes=("n2",))
    found = reversal_of(changed, facts, facts, "n2")
    assert isinstance(found, Reversal)
    assert found.environment == {MPI_FILES: "/dev/null", "OMPI_MCA_btl": "tcp,self"}
    loading = msgspec.structs.replace(software, mpi_settings={"plm_rsh_agent": "/tmp/agent"})
    facts = {"n2": msgspec.structs.replace(before, software=loading)}
    assert "plm_rsh_agent is not one of the settings" in str(reversal_of(changed, facts, facts, "n2"))


LOADING = """
    LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PATH PYTHONPATH PYTHONSTARTUP BASH_ENV ENV IFS SLURM_TASK_PROLOG
    SLURM_TASK_EPILOG SLURM_CONF OMPI_MCA_PLM UCX_MODULE_DIR UCX_MODULES UCX_GDB_COMMAND UCX_ERROR_MAIL_TO UCX_LOG_FILE
    UCX_STATS_DEST UCX_PROFILE_FILE UCX_POSIX_DIR UCX_CONFIG_DIR FI_PROVIDER_PATH FI_LOG_FILE PSM2_IDENTIFY
    HYDRA_LAUNCHER_EXEC HYDRA_LAUNCHER HYDRA_BOOTSTRAP_EXEC HYDRA_ENV I_MPI_HYDRA_BOOTSTRAP_EXEC I_MPI_OFI_LIBRARY
    I_MPI_ROOT I_MPI_TUNING_BIN MPICH_RUN_EXEC MPIR_CVAR_CH4_OFI_TUNING_FILE MV2_SUPPORT_DPM_PATH
    MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE GCONV_PATH PMIX_MCA_MCA_BASE_COMPONENT_PATH PRTE_MCA_PLM_SSH_AGENT
    plm_rsh_agent plm_ssh_agent plm_rsh_args orte_launch_agent prte_launch_agent mca_base_component_path
    mca_component_path mca_base_param_files mca_base_override_param_file mca_base_env_list opal_prefix
    orte_rsh_agent pls_rsh_agent filem_rsh_rcp mca_base_component_show_load_errors btl_openib_device_param_files
    coll_tuned_dynamic_rules_filename hwloc_base_topo_file rmaps_rank_file_path ess_base_env pml_base_verbose
"""


def test_nothing_that_can_load_a_program_is_taken_from_facts() -> None:
    for name in LOADING.split():
        found = taken_back(Case(f"{SOFTWARE}.{name}", "/tmp/x", "y"))
        assert isinstance(found, str)
        assert "is not one of the settings" in found


@pytest.mark.parametrize("value", ["a\nplm_rsh_agent=/tmp/x", "a\0b", "\x1b[1m", "x" * 1001, "é"])
def test_values_are_short_and_printable(value: str) -> None:
    assert "is not one of the settings" in str(taken_back(Case(f"{SOFTWARE}.btl", value, "y")))
    assert "is not one of the settings" in str(taken_back(Case(f"{SOFTWARE}.UCX_TLS", value, "y")))


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case("kernel", "6.1", "6.9"), "cannot be changed and restored"),
        (Case("settings.sysctls.vm.nr_hugepages", "0", "512"), "cannot be changed and restored"),
        (Case("settings.sysctls.kernel.core_pattern", "core", "|/x"), "cannot be changed and restored"),
        (Case("interfaces.../../x.mtu_bytes", 1500, 600), "cannot be changed and restored"),
        (Case("interfaces.eth0.mtu_bytes", None, 600), "cannot be written back"),
        (Case("processor.governors", "performance × 1, powersave × 1", "powersave × 2"), "cannot be written back"),
        (Case(f"{SOFTWARE}.UCX_TLS", None, "tcp"), "cannot be taken out of a job's environment"),
    ],
)
def test_what_is_not_known_to_be_safe_is_left_alone(case: Case, why: str) -> None:
    found = taken_back(case)
    assert isinstance(found, str)
    assert why in found


GROUP = "/sys/fs/cgroup/system.slice/slurmstepd.scope"
QUOTA = "processor.quota_processors"


def with_quota(processors: float | None, file: str = "", text: str = "") -> NodeFacts:
    known = server("n3")
    processor = msgspec.structs.replace(known.processor, quota_processors=processors, quota_file=file, quota_text=text)
    return msgspec.structs.replace(known, processor=processor)


def lifted(before: NodeFacts, after: NodeFacts) -> FileSetting | str:
    changed = suspect(Case(QUOTA, None, None))
    found = reversal_of(changed, {"n3": before}, {"n3": after}, "n3")
    return found if isinstance(found, str) else found.files[0]


@pytest.mark.parametrize(
    ("before", "after", "content"),
    [
        (with_quota(-1.0), with_quota(1.0, f"{GROUP}/cpu.max", "10000 10000"), ("10000 10000", "max")),
        (
            with_quota(-1.0),
            with_quota(0.5, "/sys/fs/cgroup/cpu,cpuacct/slurm/uid_0/cpu.cfs_quota_us", "50000"),
            ("50000", "-1"),
        ),
        (
            with_quota(1.5, f"{GROUP}/cpu.max", "15000 10000"),
            with_quota(1.0, f"{GROUP}/cpu.max", "10000 10000"),
            ("10000 10000", "15000 10000"),
        ),
    ],
)
def test_a_quota_is_lifted_where_it_is_set(before: NodeFacts, after: NodeFacts, content: tuple[str, str]) -> None:
    found = lifted(before, after)
    assert isinstance(found, FileSetting)
    assert found.places == ((after.processor.quota_file,),)
    assert (found.present, found.earlier) == content


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (with_quota(-1.0), with_quota(1.0), "is not known"),
        (with_quota(-1.0), with_quota(1.0, f"{GROUP}/cpu.max", "x"), "is not known"),
        (with_quota(-1.0), with_quota(1.0, "/sys/fs/cgroup/user.slice/cpu.max", "1 1"), "not one of Slurm"),
        (with_quota(-1.0), with_quota(1.0, "/sys/fs/cgroup/cpu.max", "1 1"), "not a file of a control group"),
        (with_quota(-1.0), with_quota(1.0, "/sys/fs/cgroup/../slurm/cpu.max", "1 1"), "not a file of a control"),
        (with_quota(-1.0), with_quota(1.0, "/etc/slurm/cpu.max", "1 1"), "not a file of a control group"),
        (with_quota(None), with_quota(1.0, f"{GROUP}/cpu.max", "1 1"), "before the change is not known"),
        (with_quota(2.0, "/sys/fs/cgroup/slurm/cpu.max", "2 1"), with_quota(1.0, f"{GROUP}/cpu.max", "1 1"), "another"),
    ],
)
def test_a_quota_of_anything_but_a_job_is_left_alone(before: NodeFacts, after: NodeFacts, why: str) -> None:
    found = lifted(before, after)
    assert isinstance(found, str)
    assert why in found
