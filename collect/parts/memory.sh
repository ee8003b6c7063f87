# Memory, NUMA nodes, memory modules and their errors.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

memory() {
  lines /proc/meminfo '*' 3
  value /sys/devices/system/node/online
  list /sys/devices/system/node/node '[0-9]*' ''
  for node in $matched; do
    here=/sys/devices/system/node/node$node
    if locate "$here/cpulist"; then whole_value "$here/cpulist"; else whole_value "$here/cpumap"; fi
    node_memory "$here/meminfo"
  done
  [ -z "$matched" ] || column '/sys/devices/system/node/node[0-9]*' distance
  memory_modules
  memory_controllers
}

node_memory() { # PATH of a NUMA node's meminfo: the line of its total; older kernels begin with a blank one
  locate "$1" || return 0
  left=4
  while [ "$left" -gt 0 ] && IFS= read -r line; do
    left=$((left - 1))
    case $line in
      *MemTotal:*)
        printf '@value %s|%s\n' "$1" "$line"
        return
        ;;
    esac
  done 2>/dev/null <"$found"
  absent "$1" 'no line of the total'
}

memory_modules() { # as the firmware tells them; needs root; no serial numbers, no asset tags
  script='s/^Memory Device$/|&/p'
  for item in Size Locator 'Bank Locator' Type Speed 'Configured Memory Speed' 'Configured Clock Speed'; do
    script="$script;s/^[[:blank:]]*\\($item:.*\\)/|\\1/p"
  done
  set -- dmidecode -t 17
  as_it_is "$@" && run_kept "$script" "$@"
}

memory_controllers() { # EDAC: modules under dimm, or under rank where the controller knows no modules
  list /sys/devices/system/edac/mc/mc '[0-9]*' ''
  for controller in $matched; do
    here=/sys/devices/system/edac/mc/mc$controller
    value "$here/ce_count"
    value "$here/ue_count"
    for kind in dimm rank; do
      list "$here/$kind" '[0-9]*' ''
      for module in $matched; do
        for item in size dimm_label dimm_mem_type dimm_location dimm_dev_type; do
          value "$here/$kind$module/$item"
        done
      done
    done
  done
}
