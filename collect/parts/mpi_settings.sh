# What a site tells an MPI on this node: Open MPI's files, UCX's, and the variables of a job's environment here.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

mpi_settings() { # lines that set something; a file that is not there is passed over
  # A "#" behind a value is part of it; a line may be written as on a command line.
  settings_alone="/^[[:space:]]*#/d
s/^[[:space:]]*--?mca[[:space:]]+([^[:space:]=]+)[[:space:]]+/\1=/
/^[[:space:]]*-/d
/=/!d
$scrub"
  prefix=''
  if [ "$live" = yes ] && mpirun=$(command -v mpirun 2>/dev/null) && cd -P "${mpirun%/*}/.." 2>/dev/null; then
    prefix=${PWD%/}
    cd /
  fi
  seen='' some=no
  for folder in /etc/openmpi /usr/lib64/openmpi/etc /usr/local/etc "$prefix/etc"; do
    case " $seen " in
      *" $folder "*) continue ;;
    esac
    seen="$seen $folder"
    for file in openmpi-mca-params.conf openmpi-mca-params-override.conf ucx/ucx.conf; do
      system_settings "$folder/$file"
    done
  done
  system_settings /etc/ucx/ucx.conf
  if [ "$live" = yes ]; then
    # shellcheck disable=SC2088 # names, not paths
    own_settings '~/.openmpi/mca-params.conf' "${HOME:-/nowhere}/.openmpi/mca-params.conf"
    # shellcheck disable=SC2088
    own_settings '~/ucx.conf' "${HOME:-/nowhere}/ucx.conf"
    named_settings
    variables
  fi
  [ "$some" = yes ] || absent openmpi-mca-params.conf 'no such file'
}

system_settings() { # PATH
  if locate "$1"; then
    sifted "$1" "$settings_alone"
    some=yes
  fi
}

own_settings() { # ITEM PATH
  [ "$2" = /dev/null ] || { [ -r "$2" ] && [ -f "$2" ]; } || return 0 # a job may be told to read none
  printf '@file %s\n' "$1"
  quoted "$(sed -E -e "$settings_alone" -e 512q "$2" 2>/dev/null </dev/null)"
  printf '@end\n'
  some=yes
}

named_settings() { # the files that this variable names stand instead of the system's and the user's, the first before all
  IFS=:,
  for named in ${OMPI_MCA_mca_base_param_files:-}; do
    unset IFS
    own_settings "mca_base_param_files $named" "$named"
  done
  unset IFS
}

variables() { # of this process: Slurm's TaskProlog and a node's profile may set them on one node alone
  told='(UCX|FI|PSM2?|HFI|I_MPI|MPICH|MPIR_CVAR|MV2)'
  set -- "$(env | sed -n -E -e '/^(OMPI_MCA_(pml|mtl|btl|bml|osc|coll|mpi|opal|hwloc|mca_base)(_[A-Za-z0-9_]*)?|'"$told"'_[A-Za-z0-9_]+)=/!d' \
    -e "$scrub" -e p | sed 512q)"
  [ -n "$1" ] || return 0
  printf '@file environment of an MPI\n'
  quoted "$1"
  printf '@end\n'
}
