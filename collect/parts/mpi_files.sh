# Which files MPI's programs are made of: another build of the same version shows in nothing else.
# shellcheck shell=sh disable=SC2034,SC2154 # a part of facts.sh, whose tools and variables it uses

most_blocks=131072 # of 512 bytes: what is larger than 64 MiB is told by its size alone

mpi_files() { # lines NAME CHECKSUM BYTES PATH, by one `cksum` for all; a checksum that was not had is -
  if [ "$live" = no ]; then
    absent mpi-files 'recorded machine'
    return
  fi
  names='' files='' asked_files='' mpi_folder=''
  if program=$(command -v mpirun 2>/dev/null); then mpi_file mpirun "$program"; fi
  for program in ompi_info mpichversion impi_info; do
    if command -v "$program" >/dev/null 2>&1; then
      # As ldd(1) asks; a program that is linked statically prints its own words instead, which fit nothing below.
      mpi_linked "$(limited env LD_TRACE_LOADED_OBJECTS=1 "$program" 2>/dev/null </dev/null)"
    fi
  done
  [ -z "$names" ] || mpi_loaded
  if [ -z "$files" ]; then
    absent mpi-files 'no MPI on PATH'
  else
    mpi_sums
  fi
}

mpi_file() { # NAME PATH: one more file; the first of a name stays
  case " $names " in
    *" $1 "*) return ;;
  esac
  locate "$2" && [ -f "$found" ] && [ -r "$found" ] || return 0
  names=$names${names:+ }$1
  files=$files${files:+$newline}$2
  asked_files=$asked_files${asked_files:+$newline}$found
}

mpi_linked() { # TEXT of the dynamic linker: NAME => PATH (ADDRESS)
  IFS=$newline
  for line in $1; do
    unset IFS
    line=${line#"$tab"}
    case $line in
      libmpi.so*' => /'* | libmpich.so*' => /'* | libopen-[rp]*.so*' => /'* | libprrte.so*' => /'* | \
        libpmix.so*' => /'* | libucp.so*' => /'* | libfabric.so*' => /'*)
        path=${line#*' => '}
        path=${path%' (0x'*}
        mpi_file "${line%%.so*}" "$path"
        case $line in
          libmpi*) mpi_folder=${mpi_folder:-${path%/*}} ;;
        esac
        ;;
    esac
  done
  unset IFS
}

mpi_loaded() { # what MPI's plugins load when they are used: where the linker looks for it, in its order
  cache=''
  if command -v ldconfig >/dev/null 2>&1; then # sifted by sed: shells are slow in long texts
    cache=$(ldconfig -p 2>/dev/null </dev/null |
      sed -n -E 's/^[[:space:]]+(lib(mpi|pmix|ucp|fabric))\.so\.[^ ]* .*=> (\/.*)/\1 \3/p')
  fi
  for name in libmpi libpmix libucp libfabric; do
    case " $names " in
      *" $name "*) continue ;;
      *' libmpich '*) [ "$name" != libmpi ] || continue ;;
    esac
    IFS=:
    for folder in ${LD_LIBRARY_PATH:-} $mpi_folder; do
      unset IFS
      set +f
      # shellcheck disable=SC2231 # the version is meant as a pattern
      for path in "$folder/$name".so.[0-9]*; do
        set -f
        case $path in
          /*) mpi_file "$name" "$path" ;;
        esac
      done
      set -f
    done
    unset IFS
    IFS=$newline
    for line in $cache; do
      unset IFS
      case $line in
        "$name "*) mpi_file "$name" "${line#* }" ;;
      esac
    done
    unset IFS
  done
}

mpi_sums() {
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  large=$(find -L $asked_files -size +"$most_blocks" 2>/dev/null </dev/null)
  small=''
  for file in $asked_files; do
    case $newline$large$newline in
      *"$newline$file$newline"*) ;;
      *) small=$small${small:+$newline}$file ;;
    esac
  done
  sums=''
  # shellcheck disable=SC2086
  [ -z "$small" ] || sums=$(limited cksum $small 2>/dev/null </dev/null)
  # shellcheck disable=SC2086
  set -- $asked_files
  printf '@command cksum mpi-files\n'
  for path in $files; do
    unset IFS
    file=$1
    shift
    case $newline$sums$newline in
      *" $file$newline"*)
        line=${newline}${sums}${newline}
        line=${line%%" $file$newline"*}
        line=${line##*"$newline"}
        ;;
      *) line="- $(limited wc -c <"$file" 2>/dev/null)" ;;
    esac
    printf '|%s %s %s\n' "${names%% *}" "$line" "$path"
    names=${names#* }
    IFS=$newline
  done
  unset IFS
  printf '@end 0\n'
}
