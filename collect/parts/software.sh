# Slurm, MPI and transport libraries.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

software() {
  run uname -m
  run sinfo --version || run srun --version
  run slurmd -V
  run mpirun --version
  run ompi_info --version
  run mpichversion || run mpiexec --version
}
