# Processors: model, cores, sockets, SMT, frequencies.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

numbered() { # BEFORE AFTER: match of BEFORE[0-9]*AFTER; a single root has no name twice, so none is looked for
  case $roots in
    *:*) match "$1" '[0-9]*' "$2" ;;
    *)
      matched=''
      set +f
      for entry in "$roots$1"[0-9]*"$2"; do
        [ -d "$entry" ] || continue
        entry=${entry#"$roots$1"}
        matched=$matched${matched:+ }${entry%"$2"}
      done
      set -f
      ;;
  esac
}

every() { # BEFORE AFTER FILE: column of BEFORE[0-9]*AFTER; of a single root by one glob, where each entry has one line
  pattern="$1[0-9]*$2" item=$3 cells=''
  case $roots in
    *:*) ;;
    *)
      set +f
      cells=$(cat "$roots$1"[0-9]*"$2/$3" 2>/dev/null </dev/null)
      set -f
      ;;
  esac
  # shellcheck disable=SC2086 # a list of numbers
  count $matched
  entries=$counted
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  set -- $cells
  unset IFS
  if [ $# -eq "$entries" ]; then
    line=''
    for cell; do line=$line${line:+$tab}$cell; done
    printf '@column %s %s|%s\n' "$pattern" "$item" "$line"
  else
    column "$pattern" "$item"
  fi
}

siblings_of() { # CPU...: sets siblings to the thread siblings of each, in order, or to nothing: one cat for all of them
  files=''
  for cpu; do
    locate "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" && files=$files${files:+:}$found
  done
  siblings=''
  [ -n "$files" ] || return 0
  IFS=:
  # shellcheck disable=SC2086 # split at the colons
  siblings=$(cat $files 2>/dev/null </dev/null)
  unset IFS
}

processors() {
  lines /proc/cpuinfo '*' 64
  lines /proc/self/status 'Cpus_allowed_list:*' 1
  job_processors
  processor_quotas
  value /sys/devices/system/cpu/online
  value /sys/devices/system/cpu/possible
  value /sys/devices/system/cpu/smt/active
  numbered /sys/devices/system/cpu/cpu /topology
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
  if [ "$rows" -gt 0 ] && [ -z "$siblings" ]; then # an old kernel: masks only
    printf '@list /sys/devices/system/cpu/cpu[0-9]*/topology|%s\n' "$matched"
    every /sys/devices/system/cpu/cpu /topology thread_siblings
  fi
  frequencies
  idle_states
  mitigations
  throttling
}

job_processors() { # of the job's cpuset, whose folder Slurm calls job_N: the collector's own step may have fewer of them
  name='job cpuset' line=''
  if locate /proc/self/cgroup; then
    # shellcheck disable=SC2094 # both are only read
    while IFS=: read -r _ kind path; do
      case ,$kind,$path/ in
        *,cpuset,*/job_[0-9]*/* | ,,/*/job_[0-9]*/*) ;;
        *) continue ;;
      esac
      job=${path#*/job_}
      job=${path%%/job_*}/job_${job%%/*}
      for file in "/cpuset$job/cpuset.cpus" "$job/cpuset.cpus.effective" "/unified$job/cpuset.cpus.effective"; do
        if locate "/sys/fs/cgroup$file" && line=$(cat "$found" 2>/dev/null </dev/null) && [ -n "$line" ]; then break 2; fi
      done
    done 2>/dev/null <"$found"
  fi
  if [ -n "$line" ]; then printf '@value %s|%s\n' "$name" "$line"; else absent "$name" 'no cgroup of a job'; fi
}

processor_quotas() { # of the collector's control group and of all above it, each "QUOTA PERIOD FILE", in microseconds
  rows=''
  if locate /proc/self/cgroup; then
    groups=$found
    # shellcheck disable=SC2094 # both are only read
    while IFS=: read -r _ kind path; do
      case ,$kind, in
        *,cpu,*) quotas_above "${path%/}" /cpu /cpu,cpuacct /cpuacct,cpu ;;
        ,,) quotas_above "${path%/}" '' /unified ;;
      esac
    done 2>/dev/null <"$groups"
  fi
  if [ -n "$rows" ]; then printf '@value processor quotas|%s\n' "$rows"; else absent 'processor quotas' 'no cgroup tells one'; fi
}

quotas_above() { # GROUP FOLDER...: adds the quotas of it and of all above it to rows; FOLDER: where groups may be
  above=$1
  shift
  while :; do
    for folder; do
      place=/sys/fs/cgroup$folder$above
      if first_line "$place/cpu.max"; then
        rows="$rows${rows:+;}$line $place/cpu.max"
      elif first_line "$place/cpu.cfs_quota_us"; then
        quota=$line
        first_line "$place/cpu.cfs_period_us" && rows="$rows${rows:+;}$quota $line $place/cpu.cfs_quota_us"
      fi
    done
    [ -n "$above" ] || break
    above=${above%/*}
  done
}

frequencies() { # soon after /proc/cpuinfo: opening that took a sample of all, so that the present ones come at once
  before=/sys/devices/system/cpu/cpu after=/cpufreq
  numbered "$before" "$after"
  if [ -z "$matched" ]; then
    before=/sys/devices/system/cpu/cpufreq/policy after=''
    numbered "$before" "$after"
  fi
  place=$before first=$before${matched%%" "*}$after rest=$after
  printf '@list %s|%s\n' "${before}[0-9]*$after" "$matched"
  if [ -n "$matched" ]; then
    [ -n "$after" ] || every "$place" "$rest" affected_cpus
    for setting in scaling_cur_freq scaling_governor scaling_min_freq scaling_max_freq cpuinfo_max_freq boost \
      energy_performance_preference; do
      every "$place" "$rest" "$setting"
    done
    value "$first/scaling_driver"
    value "$first/base_frequency"
  fi
  value /sys/devices/system/cpu/cpu0/acpi_cppc/nominal_freq
  value /sys/devices/system/cpu/intel_pstate/no_turbo
  value /sys/devices/system/cpu/cpufreq/boost
}

idle_states() { # of processor 0
  list /sys/devices/system/cpu/cpu0/cpuidle/state '[0-9]*' ''
  [ -n "$matched" ] || return 0
  for item in name latency disable; do
    column '/sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*' "$item"
  done
}

mitigations() { # a file for each vulnerability that this kernel knows
  names='' IFS=:
  for root in $roots; do
    unset IFS
    set +f
    for entry in "$root/sys/devices/system/cpu/vulnerabilities"/*; do
      name=${entry##*/}
      [ ! -f "$entry" ] || case " $names " in
        *" $name "*) ;;
        *) names=$names${names:+ }$name ;;
      esac
    done
    set -f
  done
  unset IFS
  printf '@list /sys/devices/system/cpu/vulnerabilities/*|%s\n' "$names"
  for name in $names; do
    value "/sys/devices/system/cpu/vulnerabilities/$name"
  done
}

throttling() {
  numbered /sys/devices/system/cpu/cpu /thermal_throttle
  printf '@list /sys/devices/system/cpu/cpu[0-9]*/thermal_throttle|%s\n' "$matched"
  [ -n "$matched" ] || return 0
  every /sys/devices/system/cpu/cpu /thermal_throttle core_throttle_count
  every /sys/devices/system/cpu/cpu /thermal_throttle package_throttle_count
}
