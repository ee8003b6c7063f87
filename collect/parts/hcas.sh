# InfiniBand, Omni-Path and RoCE devices.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

hcas() {
  list /sys/class/infiniband/ '*' ''
  devices=$matched
  for device in $devices; do
    here=/sys/class/infiniband/$device
    value "$here/node_type"
    value "$here/board_id"
    list "$here/ports/" '*' ''
    for port in $matched; do
      for item in state rate link_layer; do
        value "$here/ports/$port/$item"
      done
    done
  done
}
