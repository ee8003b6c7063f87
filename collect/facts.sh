#!/bin/sh
# What this node is: raw files and a few commands' output, as one framed stream (docs/facts.md) on standard output.
# Fed to `sh -s` on every node, so it reads no standard input and knows nothing of its own folder. It decides nothing.
# SEATRIAL_SYSROOT: root prefixes, colon-separated; the first that has a file wins. "/" is the live machine.
# Quick on nodes of many cores because it forks for commands only: `read`, globs and `cd -P` are the shell's own.

newline='
'

choose_roots() { # sets roots (colon-separated, absolute) and live (yes: "/" is among them, so commands may run)
  roots='' live=no IFS=:
  for root in ${SEATRIAL_SYSROOT:-/}; do
    case $root in
      '') continue ;;
      *[!/]*) ;;
      *) live=yes ;;
    esac
    case $root in
      /*) ;;
      *) root=$PWD/$root ;;
    esac
    roots=$roots${roots:+:}${root%/}/.
  done
  unset IFS
  if [ -z "$roots" ]; then roots=/. live=yes; fi
}

locate() { # PATH: sets found; false where no root has it
  IFS=:
  for root in $roots; do
    unset IFS
    if [ -e "$root$1" ] || [ -L "$root$1" ]; then
      found=$root$1
      return 0
    fi
  done
  unset IFS
  return 1
}

absent() { # ITEM REASON
  printf '@absent %s|%s\n' "$1" "$2"
}

first_line() { # PATH: sets line; false, with the cause in reason, where there is none
  line='' reason='no such file'
  locate "$1" || return 1
  reason='empty or not readable'
  { IFS= read -r line || [ -n "$line" ]; } 2>/dev/null <"$found"
}

value() { # PATH of a file of one line
  if first_line "$1"; then printf '@value %s|%s\n' "$1" "$line"; else absent "$1" "$reason"; fi
}

whole_value() { # PATH of a kernel list: newer kernels answer nothing to the single-byte reads of `read`, so ask cat
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif line=$(cat "$found" 2>/dev/null); then
    printf '@value %s|%s\n' "$1" "${line%%"$newline"*}"
  else
    absent "$1" 'empty or not readable'
  fi
}

link() { # PATH of a symbolic link: the last component of where it leads
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif cd -P "$found" 2>/dev/null; then
    printf '@link %s|%s\n' "$1" "${PWD##*/}"
    cd /
  else
    absent "$1" 'leads nowhere'
  fi
}

lines() { # PATH PATTERN COUNT: of a longer file, the first COUNT lines that match, up to the first blank one
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif ! [ -f "$found" ] || ! [ -r "$found" ]; then
    absent "$1" 'not readable'
  else
    printf '@file %s\n' "$1"
    left=$3
    # shellcheck disable=SC2254 # the pattern is meant as one
    while [ "$left" -gt 0 ] && { IFS= read -r line || [ -n "$line" ]; }; do
      case $line in
        '') break ;;
        $2)
          printf '|%s\n' "$line"
          left=$((left - 1))
          ;;
      esac
    done 2>/dev/null <"$found"
    printf '@end\n'
  fi
}

match() { # BEFORE GLOB AFTER: sets matched to what the glob stands for, over all roots, folders and links only
  matched='' IFS=:
  for root in $roots; do
    unset IFS
    set +f
    # shellcheck disable=SC2027,SC2086,SC2231 # the glob in the middle is meant as one
    for entry in "$root$1"$2"$3"; do
      [ -d "$entry" ] || [ -L "$entry" ] || continue
      name=${entry#"$root$1"}
      name=${name%"$3"}
      case " $matched " in
        *" $name "*) ;;
        *) matched=$matched${matched:+ }$name ;;
      esac
    done
    set -f
  done
  unset IFS
}

list() { # BEFORE GLOB AFTER: the same, printed
  match "$1" "$2" "$3"
  printf '@list %s|%s\n' "$1$2$3" "$matched"
}

limited() { # COMMAND ARGUMENT...: five seconds, where that can be had
  if command -v timeout >/dev/null 2>&1; then timeout 5 "$@"; else "$@"; fi
}

run() { # COMMAND ARGUMENT...: its first four lines and its status; false where there is no answer
  if [ "$live" = no ]; then
    absent "$*" 'recorded machine'
    return 1
  elif ! command -v "$1" >/dev/null 2>&1; then
    absent "$*" 'not installed'
    return 1
  fi
  rest=$(limited "$@" 2>&1 </dev/null)
  status=$?
  printf '@command %s\n' "$*"
  left=4
  while [ -n "$rest" ] && [ "$left" -gt 0 ]; do
    printf '|%s\n' "${rest%%"$newline"*}"
    case $rest in
      *"$newline"*) rest=${rest#*"$newline"} ;;
      *) rest='' ;;
    esac
    left=$((left - 1))
  done
  printf '@end %s\n' "$status"
  return "$status"
}

kernel() {
  for item in hostname ostype osrelease version random/boot_id; do
    value "/proc/sys/kernel/$item"
  done
}

siblings_of() { # CPU...: sets siblings to the thread siblings of each, in order, or to nothing: one cat for all of them
  files=''
  for cpu; do
    locate "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" && files=$files${files:+:}$found
  done
  IFS=:
  # shellcheck disable=SC2086 # split at the colons
  siblings=$(cat $files 2>/dev/null </dev/null)
  unset IFS
}

processors() {
  lines /proc/cpuinfo '*' 64
  value /sys/devices/system/cpu/online
  value /sys/devices/system/cpu/possible
  match /sys/devices/system/cpu/cpu '[0-9]*' /topology
  # shellcheck disable=SC2086 # a list of numbers
  siblings_of $matched
  # shellcheck disable=SC2086
  set -- $siblings
  rows=0
  for cpu in $matched; do
    rows=$((rows + 1))
  done
  [ $# -eq "$rows" ] || set --
  printf '@table /sys/devices/system/cpu/cpu[0-9]*/topology core_id physical_package_id thread_siblings_list\n'
  for cpu in $matched; do
    row=$cpu
    for item in core_id physical_package_id; do
      if first_line "/sys/devices/system/cpu/cpu$cpu/topology/$item"; then row="$row $line"; else row="$row ?"; fi
    done
    printf '|%s %s\n' "$row" "${1:-?}"
    [ $# -eq 0 ] || shift
  done
  printf '@end\n'
}

memory() {
  lines /proc/meminfo '*' 3
  value /sys/devices/system/node/online
  list /sys/devices/system/node/node '[0-9]*' ''
  for node in $matched; do
    whole_value "/sys/devices/system/node/node$node/cpulist"
  done
}

interfaces() {
  lines /proc/net/dev '*' 4096
  list /sys/class/net/ '*' /bridge
  list /sys/class/net/ '*' ''
  interfaces=$matched
  for interface in $interfaces; do
    here=/sys/class/net/$interface
    for item in type operstate speed mtu carrier flags; do
      value "$here/$item"
    done
    for item in rx_errors tx_errors rx_dropped tx_dropped; do
      value "$here/statistics/$item"
    done
    link "$here/device/driver"
    link "$here/master"
    list "$here/lower_" '*' ''
  done
}

hcas() {
  list /sys/class/infiniband/ '*' ''
  devices=$matched
  for device in $devices; do
    here=/sys/class/infiniband/$device
    value "$here/node_type"
    value "$here/board_id"
    list "$here/ports/" '*' ''
    for port in $matched; do
      for item in state rate link_layer; do
        value "$here/ports/$port/$item"
      done
    done
  done
}

software() {
  run uname -m
  run sinfo --version || run srun --version
  run slurmd -V
  run mpirun --version
  run ompi_info --version
  run mpichversion || run mpiexec --version
}

main() {
  set -u -f
  export LC_ALL=C
  PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin
  choose_roots
  if first_line /proc/sys/kernel/hostname; then :; elif [ "$live" = yes ]; then line=$(uname -n); fi
  hostname=${line%%[!A-Za-z0-9._-]*}
  hostname=${hostname:-unknown}
  printf '#seatrial-facts 1 %s\n' "$hostname"
  kernel
  processors
  memory
  interfaces
  hcas
  lines /proc/net/snmp 'Tcp:*' 2
  lines /proc/net/netstat 'TcpExt:*' 2
  software
  printf '#end %s\n' "$hostname"
}

main
