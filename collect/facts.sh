#!/bin/sh
# What this node is: raw files and a few commands' output, as one framed stream (docs/facts.md) on standard output.
# This file and its parts: `cat collect/parts/*.sh collect/facts.sh | sh -s`.
# Fed to `sh -s` on every node, so it reads no standard input and knows nothing of its own folder. It decides nothing.
# SEATRIAL_SYSROOT: root prefixes, colon-separated; the first that has a file wins. "/" is the live machine.
# SEATRIAL_FACTS: full (the default), or quick: without the commands that take long.
# Quick on nodes of many cores because it forks for commands only: `read`, globs and `cd -P` are the shell's own.

newline='
'
tab=$(printf '\t')

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

locate() { # PATH: sets found; false where no root has it as a file, a folder, or a link that leads nowhere
  case $1/ in
    */../*) return 1 ;; # a file of somebody else's recorded tree may name it, and it leads out of the root
  esac
  IFS=:
  for root in $roots; do
    unset IFS
    # No device and no pipe: a recorded tree of somebody else's may hold links to /dev/zero.
    if [ -f "$root$1" ] || [ -d "$root$1" ] || { [ -L "$root$1" ] && ! [ -e "$root$1" ]; }; then
      found=$root$1
      return 0
    fi
  done
  unset IFS
  return 1
}

asked_all() { # whether what takes long is asked for too; SEATRIAL_FACTS=quick leaves it out
  [ "${SEATRIAL_FACTS:-full}" != quick ]
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

real() { # PATH of a folder or a link to one: where it really lies, without the root
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif cd -P "$found" 2>/dev/null; then
    place=$PWD
    cd -P "${found%"$1"}" 2>/dev/null && [ "$PWD" != / ] && place=${place#"$PWD"}
    printf '@real %s|%s\n' "$1" "$place"
    cd /
  else
    absent "$1" 'leads nowhere'
  fi
}

column() { # PATTERN FILE: that file of every entry in $matched (PATTERN's star), in that order, divided by tabs
  files=''
  before=${1%%"[0-9]*"*} after=${1##*"[0-9]*"}
  if [ "$before" = "$1" ]; then before=${1%%"*"*} after=${1##*"*"}; fi
  row='' some=no
  for entry in $matched; do
    if locate "$before$entry$after/$2" && [ -r "$found" ]; then
      files=$files${files:+:}$found some=yes
    fi
    row="$row x"
  done
  if [ "$some" = no ]; then
    absent "$1/$2" 'no such file'
    return
  fi
  IFS=:
  # shellcheck disable=SC2086 # split at the colons
  cells=$(cat $files 2>/dev/null </dev/null)
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  set -- "$1" "$2" $cells
  unset IFS
  asked=$#
  # shellcheck disable=SC2086
  count $row
  if [ $((asked - 2)) -eq "$counted" ]; then
    name="$1 $2" line=''
    shift 2
    for cell; do line=$line${line:+$tab}$cell; done
    printf '@column %s|%s\n' "$name" "$line"
  else # some are missing, empty, or of several lines: one by one
    name="$1 $2" line=''
    for entry in $matched; do
      cell=''
      if locate "$before$entry$after/$2"; then cell=$(cat "$found" 2>/dev/null </dev/null); fi
      cell=${cell%%"$newline"*}
      line=$line${line:+$tab}${cell:-?}
    done
    printf '@column %s|%s\n' "$name" "$line"
  fi
}

count() { # WORD...: sets counted
  counted=$#
}

hex() { # PATH COUNT: the first COUNT bytes of a binary file
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif bytes=$(od -An -v -tx1 -N "$2" "$found" 2>/dev/null) && [ -n "$bytes" ]; then
    # shellcheck disable=SC2086 # blanks and ends of lines go
    set -- "$1" $bytes
    name=$1
    shift
    line=''
    for byte; do line=$line$byte; done
    printf '@hex %s|%s\n' "$name" "$line"
  else
    absent "$1" 'empty or not readable'
  fi
}

limited() { # COMMAND ARGUMENT...: five seconds, or $patience_s, where that can be had
  if command -v timeout >/dev/null 2>&1; then timeout "${patience_s:-5}" "$@"; else "$@"; fi
}

can_run() { # COMMAND ARGUMENT...: whether the machine may be asked and has the command; else says why not
  if [ "$live" = no ]; then
    absent "$*" 'recorded machine'
    return 1
  elif ! command -v "$1" >/dev/null 2>&1; then
    absent "$*" 'not installed'
    return 1
  fi
}

run() { # COMMAND ARGUMENT...: its first four lines and its status; false where there is no answer
  can_run "$@" || return 1
  rest=$(limited "$@" 2>&1 </dev/null)
  status=$? left=4
  printf '@command %s\n' "$*"
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

main() {
  set -u -f
  export LC_ALL=C
  PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin
  choose_roots
  if first_line /proc/sys/kernel/hostname; then :; elif [ "$live" = yes ]; then line=$(uname -n); else
    # A sosreport has no /proc/sys, and the output of hostname as a file.
    first_line /sos_commands/host/hostname || first_line /hostname || first_line /etc/hostname || line=''
  fi
  hostname=${line%%[!A-Za-z0-9._-]*}
  hostname=${hostname:-unknown}
  printf '#seatrial-facts 1 %s\n' "$hostname"
  kernel
  kernel_settings
  processors
  memory
  topology
  interfaces
  hcas
  pci
  gpus
  lines /proc/vmstat 'oom_kill *' 1
  lines /proc/net/snmp 'Tcp:*' 2
  lines /proc/net/netstat 'TcpExt:*' 2
  system
  mounts
  sensors
  software
  printf '#end %s\n' "$hostname"
}

main
