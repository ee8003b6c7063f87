# PCIe devices and the bridges above them.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

read_column() { # PATTERN FILE: `column` without a fork; for files that answer to the single-byte reads of `read`
  before=${1%%"*"*} after=${1##*"*"} row='' some=no
  for entry in $matched; do
    if first_line "$before$entry$after/$2" && [ -n "$line" ]; then some=yes; else line='?'; fi
    row=$row${row:+$tab}$line
  done
  if [ "$some" = yes ]; then printf '@column %s %s|%s\n' "$1" "$2" "$row"; else absent "$1/$2" 'no such file'; fi
}

driver_link() { # PATH: `link`; where it dangles, as in a recording without the drivers' folders, what the link says
  if locate "$1" && [ -L "$found" ] && ! [ -e "$found" ] && place=$(readlink "$found" 2>/dev/null); then
    place=${place%/}
    printf '@link %s|%s\n' "$1" "${place##*/}"
  else
    link "$1"
  fi
}

pci_above() { # adds the bridges between $place and its host bridge, pciDDDD:BB, to bridges
  chain='' IFS=/
  for step in $place; do
    case $step in
      pci*:*) chain='' ;;
      [0-9a-f]*:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]) chain="$chain $step" ;;
    esac
  done
  unset IFS
  for step in $chain; do
    case " $devices $bridges " in
      *" $step "*) ;;
      *) bridges=$bridges${bridges:+ }$step ;;
    esac
  done
}

pci_names() { # FOLDER of a device: what the kernel calls it
  for glob in 'net/*' 'infiniband/*' 'nvme/*' 'drm/card[0-9]*' 'virtio[0-9]*/net/*'; do
    match "$1/" "$glob" ''
    [ -z "$matched" ] || printf '@list %s|%s\n' "$1/$glob" "$matched"
  done
}

pci_configs() { # ADDRESS...: 256 bytes of each; 64 are all that an ordinary user gets, of the first and of all others
  while [ $# -gt 0 ]; do
    line=''
    hex "/sys/bus/pci/devices/$1/config" 256
    shift
    case ${#line} in
      0) ;;
      512) break ;;
      *) return ;;
    esac
  done
  files=''
  for address; do
    if locate "/sys/bus/pci/devices/$address/config"; then files=$files${files:+$newline}$found; fi
  done
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  rest=$(head -q -c 256 $files </dev/null 2>/dev/null | od -An -v -tx1 | tr -d ' \n' | fold -w 512)
  if [ "${#rest}" -eq $(($# * 513 - 1)) ]; then # all in full: 512 digits and the end of a line
    for line in $rest; do
      printf '@hex %s|%s\n' "/sys/bus/pci/devices/$1/config" "$line"
      shift
    done
    unset IFS
  else
    unset IFS
    for address; do
      hex "/sys/bus/pci/devices/$address/config" 256
    done
  fi
}

pci_errors() { # totals of the errors that the kernel counts (AER), of every device and bridge in $matched
  files=''
  for address in $matched; do
    for kind in correctable nonfatal fatal; do
      if locate "/sys/bus/pci/devices/$address/aer_dev_$kind"; then files=$files${files:+$newline}$found; fi
    done
  done
  [ -n "$files" ] || return 0
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  grep -s '^TOTAL_ERR' $files /dev/null </dev/null |
    sed -n -E 's!^.*(/sys/bus/pci/devices/[^/]+/aer_dev_[a-z]+):TOTAL_ERR_[A-Z]+ ([0-9]+)$!@value \1|\2!p'
  unset IFS
}

pci() {
  match /sys/bus/pci/devices/ '*' ''
  devices='' bridges='' whole=''
  for address in $matched; do
    first_line "/sys/bus/pci/devices/$address/class" || continue
    case $line in # network, InfiniBand, display, accelerators, co-processors, NVMe
      0x02* | 0x0c06* | 0x03* | 0x12* | 0x0b40* | 0x0108*) devices=$devices${devices:+ }$address ;;
    esac
  done
  for address in $devices; do
    here=/sys/bus/pci/devices/$address place=''
    real "$here"
    pci_above
    driver_link "$here/driver"
    if locate "$here/physfn"; then driver_link "$here/physfn"; else whole=$whole${whole:+ }$address; fi
    if locate "$here/iommu_group"; then driver_link "$here/iommu_group"; fi
    pci_names "$here"
  done
  matched=$devices${bridges:+ }$bridges
  printf '@list /sys/bus/pci/devices/*|%s\n' "$matched"
  for item in class vendor device numa_node current_link_speed current_link_width max_link_speed max_link_width \
    iommu_group/type; do
    [ -z "$matched" ] || read_column '/sys/bus/pci/devices/*' "$item"
  done
  pci_errors
  # shellcheck disable=SC2086 # lists of addresses
  pci_configs $whole $bridges
}
