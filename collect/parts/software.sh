# Slurm, MPI and transport libraries.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

software() {
  run uname -m
  run sinfo --version || run srun --version
  run slurmd -V
  run mpirun --version
  run ompi_info --version
  run mpichversion || run mpiexec --version
  run_slow '/^config:cli:/b
/^mca:[a-z0-9]+:[^:]+:version:"component:/!d
s/^(mca:[^:]*:[^:]*):.*/\1/
/^mca:(btl|pml|mtl|osc|coll|pmix|ess|plm|ras|io|op):/!d' ompi_info --parsable
  run_slow '/[Vv]ersion/!d' ucx_info -v
  run_slow '/(Transport|Device):/!d' ucx_info -d
  run_slow '' fi_info --version
  run_slow '/^[^ ]/!d' fi_info -l
  mpi_settings
  mpi_files
  modules_system
}

modules_system() { # the one thing read from the environment: which system sets it
  if [ "$live" = no ]; then
    absent LMOD_VERSION 'recorded machine'
  elif [ -n "${LMOD_VERSION:-}" ]; then
    printf '@value LMOD_VERSION|%s\n' "${LMOD_VERSION%%"$newline"*}"
  elif [ -n "${MODULES_CMD:-}" ]; then
    run_slow '' "$MODULES_CMD" --version
  else
    absent LMOD_VERSION 'neither this nor MODULES_CMD is set'
  fi
}
