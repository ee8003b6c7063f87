# Open MPI's own files of settings: the system's, that of the mpirun on PATH, the user's.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

mpi_settings() { # lines that set something; a file that is not there is passed over
  settings_alone="s/#.*//
/=/!d
$scrub"
  prefix=''
  if [ "$live" = yes ] && mpirun=$(command -v mpirun 2>/dev/null) && cd -P "${mpirun%/*}/.." 2>/dev/null; then
    prefix=${PWD%/}
    cd /
  fi
  seen='' some=no
  for folder in /etc/openmpi /usr/lib64/openmpi/etc /usr/local/etc "$prefix/etc"; do
    path=$folder/openmpi-mca-params.conf
    case " $seen " in
      *" $path "*) continue ;;
    esac
    seen="$seen $path"
    if locate "$path"; then
      sifted "$path" "$settings_alone"
      some=yes
    fi
  done
  if [ "$live" = yes ] && [ -r "${HOME:-/nowhere}/.openmpi/mca-params.conf" ]; then
    printf '@file ~/.openmpi/mca-params.conf\n'
    quoted "$(sed -E -e "$settings_alone" -e 512q "$HOME/.openmpi/mca-params.conf" 2>/dev/null </dev/null)"
    printf '@end\n'
    some=yes
  fi
  [ "$some" = yes ] || absent openmpi-mca-params.conf 'no such file'
}
