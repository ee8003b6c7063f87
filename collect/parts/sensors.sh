# Temperatures, fans, power, and the limits of power.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

sensors() { # hundreds of files: one grep of a root for all; the first root comes last, since the last value counts
  reversed='' some=no IFS=:
  for root in $roots; do
    reversed=$root${reversed:+:}$reversed
  done
  for root in $reversed; do
    unset IFS
    if cd "$root/sys/class" 2>/dev/null; then
      set +f
      for entry in hwmon/hwmon*/name thermal/thermal_zone*/temp powercap/*/name; do
        [ -e "$entry" ] || continue
        some=yes
        readings
        break
      done
      set -f
      cd /
    fi
  done
  unset IFS
  [ "$some" = yes ] || absent /sys/class/hwmon 'no sensors'
}

readings() { # of this folder, in which globbing is on
  limited grep -s '' /dev/null hwmon/hwmon*/name hwmon/hwmon*/temp*_input hwmon/hwmon*/temp*_label \
    hwmon/hwmon*/temp*_crit hwmon/hwmon*/temp*_crit_alarm hwmon/hwmon*/fan*_input hwmon/hwmon*/fan*_label \
    hwmon/hwmon*/fan*_alarm hwmon/hwmon*/fan*_fault hwmon/hwmon*/power*_alarm hwmon/hwmon*/power*_crit_alarm hwmon/hwmon*/power*_average \
    hwmon/hwmon*/power*_input hwmon/hwmon*/power*_label thermal/thermal_zone*/type thermal/thermal_zone*/temp \
    powercap/*/name powercap/*/constraint_*_name powercap/*/constraint_*_power_limit_uw 2>/dev/null </dev/null |
    sed -n -E 's!^([a-z]+/[^/]+/[^/:]+):!@value /sys/class/\1|!p'
}
