# Memory and NUMA nodes.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

memory() {
  lines /proc/meminfo '*' 3
  value /sys/devices/system/node/online
  list /sys/devices/system/node/node '[0-9]*' ''
  for node in $matched; do
    whole_value "/sys/devices/system/node/node$node/cpulist"
  done
}
