# Processors: model, cores, sockets, SMT, frequencies.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

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
