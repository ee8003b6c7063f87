# Firmware, limits of the job, clock, and when the kernel was started.
# shellcheck shell=sh disable=SC2034,SC2154 # a part of facts.sh, whose tools and variables it uses

system() {
  set --
  for item in sys_vendor product_name board_name bios_vendor bios_version bios_date; do # no serial numbers, no UUID
    set -- "$@" "/sys/class/dmi/id/$item"
  done
  if locate /sys/class/dmi/id; then
    missing "$@"
    values_there "$@"
  else
    absent /sys/class/dmi/id 'no such file'
  fi
  globbed '/sys/devices/platform/ipmi_bmc.*/firmware_revision'
  if [ -n "$paths" ]; then
    patience=limited # the kernel asks the BMC anew
    # shellcheck disable=SC2086 # a list of paths without blanks
    values_there $paths
    patience=''
  else
    absent '/sys/devices/platform/ipmi_bmc.*' 'no such file'
  fi
  firmware_settings
  management_controller
  lines /var/run/hwloc/knl_memoryside_cache '*_mode:*' 2
  list /sys/devices/system/node/node '[0-9]*' /memory_side_cache
  lines /proc/self/limits 'Max *' 20
  sifted /proc/stat '/^btime /!d'
  kernel_log
  clock
}

firmware_settings() { # of the BIOS, where the kernel shows them; no names, tags and numbers of the single machine
  locate /sys/class/mei/mei0/fw_ver && values_there /sys/class/mei/mei0/fw_ver
  globbed '/sys/class/firmware-attributes/*/attributes/*/current_value'
  set --
  IFS=$newline
  for path in $paths; do
    case $path in
      *[Ss]erial* | *[Aa]sset* | *[Ss]ervice* | *[Oo]wner* | *[Pp]assw* | *UUID* | *Uuid* | *Tag/* | *MAC* | *[Dd]ate/* | *[Tt]ime/*) ;;
      *) [ $# -ge 512 ] || set -- "$@" "$path" ;;
    esac
  done
  unset IFS
  if [ $# -gt 0 ]; then values_there "$@"; else absent /sys/class/firmware-attributes 'no such file'; fi
}

management_controller() { # what the BMC says of itself and of its sensors; needs root, and takes a second or more
  if [ -e /dev/ipmi0 ] || [ -e /dev/ipmi/0 ] || [ -e /dev/ipmidev/0 ]; then
    as_it_is ipmitool mc info &&
      run_slow '/^(Firmware Revision|IPMI Version|Manufacturer Name|Product Name) /!d' ipmitool mc info &&
      run_slow '' ipmitool sdr
  elif [ "$live" = yes ]; then
    absent 'ipmitool mc info' 'no device of a BMC (/dev/ipmi0)'
  fi
}

# Lines of the kernel's log about hardware: machine checks, PCIe, GPUs, adapters, memory, heat and disks.
reported='Hardware Error|[Mm]achine [Cc]heck|PCIe Bus Error|AER: |NVRM: Xid|throttled|EDAC .*(UE|[Uu]ncorrect)'
reported=$reported'|I/O error, dev|mlx[45]_core.*([Hh]ealth|syndrome|[Tt]imed? ?out|error|fatal|failed)'
reported=$reported'|hfi1.*([Ee]rror|[Ff]atal|[Ff]reeze|timed out|going down)'
# Lines with the name of a process, which any user can choose, and have logged by a crash or for want of memory.
named='^(\[[^]]*\] ?)*(traps: )?.{1,15}(\[[0-9]+\]:? |/[0-9]+ | ?\([0-9]+\)| invoked oom|: page allocation)'
named=$named'|[Cc]omm[:=] ?|[Kk]ill(ed|ing) process|oom[-_]kill|process [`'\'']|split_lock|: task |\] +[0-9]+ +[0-9]+ '

kernel_log() { # the last 400 of them
  if [ "$live" = no ]; then
    if locate /var/log/dmesg; then
      printf '@command dmesg\n'
      quoted "$(grep -E "$reported" "$found" 2>/dev/null | grep -vE "$named" | tail -n 400 | sed -E "$scrub")"
      printf '@end 0\n'
    else
      absent dmesg 'recorded machine'
    fi
  elif can_run dmesg; then
    whole=$(limited dmesg 2>/dev/null </dev/null)
    status=$?
    printf '@command dmesg\n'
    quoted "$(printf '%s\n' "$whole" | grep -E "$reported" | grep -vE "$named" | tail -n 400 | sed -E "$scrub")"
    printf '@end %s\n' "$status"
  fi
}

clock() {
  value /sys/devices/system/clocksource/clocksource0/current_clocksource
  run_sifted '/^(Stratum|System time|Leap status)/!d' chronyc -n tracking ||
    run_sifted '' ntpq -c 'rv 0 leap,stratum,offset' ||
    run_slow '' timedatectl show -p NTPSynchronized
}
