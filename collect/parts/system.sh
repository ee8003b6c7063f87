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
  lines /var/run/hwloc/knl_memoryside_cache '*_mode:*' 2
  list /sys/devices/system/node/node '[0-9]*' /memory_side_cache
  lines /proc/self/limits 'Max *' 20
  sifted /proc/stat '/^btime /!d'
  clock
}

clock() {
  value /sys/devices/system/clocksource/clocksource0/current_clocksource
  run_sifted '/^(Stratum|System time|Leap status)/!d' chronyc -n tracking ||
    run_sifted '' ntpq -c 'rv 0 leap,stratum,offset' ||
    run_slow '' timedatectl show -p NTPSynchronized
}
