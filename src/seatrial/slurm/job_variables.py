"""SLURM_ variables of this shell: a job's that is over, some that were lost, some that change how srun starts; pure."""

from collections.abc import Mapping

from seatrial.model.launching import Obstacle, Remark, blocked, fine, noted

STEP = "variables"
OF_JOB = ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES")
CHANGING = (
    "SLURM_CONSTRAINT", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_DISTRIBUTION", "SLURM_EPILOG", "SLURM_EXACT",
    "SLURM_EXCLUSIVE", "SLURM_EXPORT_ENV", "SLURM_GRES", "SLURM_HINT", "SLURM_HOSTFILE", "SLURM_KILL_BAD_EXIT",
    "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_NODE", "SLURM_MPI_TYPE", "SLURM_NETWORK", "SLURM_NTASKS_PER_NODE",
    "SLURM_OVERCOMMIT", "SLURM_PROLOG", "SLURM_RESV_PORTS", "SLURM_TASK_PROLOG", "SLURM_THREADS_PER_CORE",
    "SLURM_TIMELIMIT",
)  # fmt: skip
"""Input variables of srun (srun(1), INPUT ENVIRONMENT VARIABLES) that change where tasks run or what they see."""
FORGET = "Forget the old job's variables (unset SLURM_JOB_ID SLURM_JOBID), or start from a new shell."
KEEP = "Preserve all SLURM_ variables (guix shell --preserve=^SLURM, module without purge), or start from a new shell."


def judge_variables(environ: Mapping[str, str], job_state: str, stranger: str = "") -> list[Remark]:
    """`environ`: this process's environment; `job_state`: squeue's word for SLURM_JOB_ID, empty where it has none.

    `stranger`: whose that job is, where it is not ours.
    """
    job = environ.get("SLURM_JOB_ID", "")
    if not job and "SLURM_JOB_ID" in environ:
        says = "SLURM_JOB_ID is set here and empty: srun refuses every step."
        return [blocked(STEP, Obstacle.JOB_VARIABLES, says, "Unset it: unset SLURM_JOB_ID.")]
    if not job:
        return _outside(environ)
    if not job_state:
        return [
            blocked(
                STEP,
                Obstacle.JOB_VARIABLES,
                f"SLURM_JOB_ID is {job}, and Slurm knows no such job any more: srun will refuse every step.",
                FORGET,
            )
        ]
    if stranger:
        says = f"SLURM_JOB_ID is {job}, and that is user {stranger}'s job."
        return [blocked(STEP, Obstacle.JOB_VARIABLES, says, FORGET)]
    lost = [name for name in OF_JOB if not environ.get(name)]
    if lost:
        says = f"Inside job {job}, and {' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} lost."
        return [noted(STEP, Obstacle.JOB_VARIABLES, says, KEEP)]
    return [fine(STEP, f"Inside job {job}, which is {job_state.lower()}.")]


def _outside(environ: Mapping[str, str]) -> list[Remark]:
    left = [name for name in OF_JOB if environ.get(name)]
    if left:
        says = f"{' and '.join(left)} of a job {'is' if len(left) == 1 else 'are'} here, and SLURM_JOB_ID is not."
        return [blocked(STEP, Obstacle.JOB_VARIABLES, says, KEEP)]
    changing = [f"{name}={environ[name]}" for name in CHANGING if environ.get(name)]
    if changing:
        says = f"Variables of this shell change how srun starts: {', '.join(changing)}."
        return [noted(STEP, Obstacle.SRUN_VARIABLES, says, "Unset those that you do not mean.")]
    return [fine(STEP, "Outside of any job, and nothing of an old one is left.")]
