# Where processors, caches and memory lie: hwloc's XML where the machine is asked as it is, else the kernel's files.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

hwloc() { # PROGRAM OPTION: its XML, without infos (serial numbers among them) and what follows from the rest
  script='/<info /d;/<support /d;/<page_type /d;/"NUMANode"/!s/ cpuset="[^"]*"//;s/ [a-z]*_cpuset="[^"]*"//g'
  script=$script';s/ [a-z_]*nodeset="[^"]*"//g;s/ gp_index="[^"]*"//;s/ cache_[al][a-z]*="[^"]*"//g;s/^ */|/p'
  # hwloc's x86 part binds itself to every processor in turn: it waits for what runs there, and disturbs it.
  export HWLOC_COMPONENTS=-x86 HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1
  unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT HWLOC_CPUID_PATH HWLOC_THISSYSTEM
  set -- "$1" --of xml --no-io "$2"
  as_it_is "$@" && run_kept "$script" "$@"
}

topology() { # no I/O, so no GPU library is loaded; with the processors a job may not use, as hwloc 2 and 1 call them
  for program in lstopo-no-graphics lstopo; do
    for option in --disallowed --whole-system; do
      (hwloc "$program" "$option")
      case $? in
        0) return ;;
        124) break 2 ;;
        "$not_run") break ;;
      esac
    done
  done
  caches
}

caches() { # by the place they have in a processor's list of them
  for index in 0 1 2 3 4 5 6 7 8 9; do
    numbered /sys/devices/system/cpu/cpu "/cache/index$index"
    [ -n "$matched" ] || break
    printf '@list /sys/devices/system/cpu/cpu[0-9]*/cache/index%s|%s\n' "$index" "$matched"
    for item in level type size shared_cpu_list; do
      line=''
      every /sys/devices/system/cpu/cpu "/cache/index$index" "$item"
    done
    [ -n "$line" ] || every /sys/devices/system/cpu/cpu "/cache/index$index" shared_cpu_map
  done
}
