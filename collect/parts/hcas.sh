# InfiniBand, Omni-Path, RoCE and iWARP devices.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

port_counters='symbol_error link_error_recovery link_downed port_rcv_errors port_rcv_remote_physical_errors
  port_rcv_switch_relay_errors port_xmit_discards port_xmit_wait port_xmit_constraint_errors
  port_rcv_constraint_errors VL15_dropped local_link_integrity_errors excessive_buffer_overrun_errors
  port_rcv_data port_xmit_data port_rcv_packets port_xmit_packets'
hardware_counters='out_of_sequence packet_seq_err rnr_nak_retry_err local_ack_timeout_err np_cnp_sent rp_cnp_handled
  roce_adp_retrans'

subnet_prefix() { # PATH of a GID: its first half; the second is a serial number
  if first_line "$1"; then
    half=${line%:*:*:*:*}
    [ "$half" = "$line" ] || printf '@value %s|%s\n' "$1" "$half"
  else
    absent "$1" "$reason"
  fi
}

hca_port() { # FOLDER
  for item in state phys_state rate link_layer lid sm_lid gid_attrs/ndevs/0; do
    value "$1/$item"
  done
  subnet_prefix "$1/gids/0"
}

hcas() {
  list /sys/class/infiniband/ '*' ''
  hcas=$matched
  for hca in $hcas; do
    here=/sys/class/infiniband/$hca
    for item in node_type board_id fw_ver hca_type device/numa_node; do
      value "$here/$item"
    done
    real "$here/device"
    driver_link "$here/device/driver"
    list "$here/device/net/" '*' ''
    for interface in $matched; do
      value "$here/device/net/$interface/dev_port"
      value "$here/device/net/$interface/dev_id"
    done
    list "$here/ports/" '*' ''
    for port in $matched; do
      hca_port "$here/ports/$port"
    done
    for item in $port_counters; do
      read_column "$here/ports/*" "counters/$item"
    done
    for item in $hardware_counters; do
      read_column "$here/ports/*" "hw_counters/$item"
    done
  done
  # the MTU in use is not in sysfs; of what the command tells, no GUID
  [ -z "$hcas" ] || run_kept 's/.*hca_id:/|&/p;s/.*[[:space:]]port:/|&/p;s/.*active_mtu:/|&/p' ibv_devinfo
  # sysfs has 1X for each Omni-Path link of fewer than 4 lanes; of what the command tells, no GUID
  [ -z "$hcas" ] || run_kept 's/^\([[:alnum:]_]*:[0-9][0-9]*\)[[:space:]].*/|\1/p;s/.*LinkSpeed.*/|&/p;s/.*LinkWidth.*/|&/p' opainfo
}
