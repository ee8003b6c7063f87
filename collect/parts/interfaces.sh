# Network interfaces and the kernel's count of TCP segments.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

interfaces() {
  lines /proc/net/dev '*' 4096
  list /sys/class/net/ '*' /bridge
  list /sys/class/net/ '*' ''
  interfaces=$matched
  for interface in $interfaces; do
    here=/sys/class/net/$interface
    for item in type operstate speed mtu carrier flags duplex; do
      value "$here/$item"
    done
    for item in rx_errors tx_errors rx_dropped tx_dropped; do
      value "$here/statistics/$item"
    done
    if locate "$here/mode"; then value "$here/mode"; fi # of IPoIB alone
    real "$here/device"
    driver_link "$here/device/driver"
    link "$here/master"
    list "$here/lower_" '*' ''
  done
}
