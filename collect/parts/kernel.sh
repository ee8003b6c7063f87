# Which kernel runs, and how it is set.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

sysctls='kernel/numa_balancing kernel/sched_autogroup_enabled kernel/nmi_watchdog kernel/watchdog
kernel/perf_event_paranoid vm/swappiness vm/zone_reclaim_mode vm/overcommit_memory vm/nr_hugepages vm/dirty_ratio
net/core/rmem_max net/core/wmem_max net/core/netdev_max_backlog net/core/default_qdisc net/ipv4/tcp_rmem
net/ipv4/tcp_wmem net/ipv4/tcp_congestion_control net/ipv4/tcp_mtu_probing net/ipv4/tcp_sack net/ipv4/tcp_timestamps
net/ipv4/tcp_window_scaling'

kernel() {
  for item in hostname ostype osrelease version random/boot_id; do
    value "/proc/sys/kernel/$item"
  done
}

kernel_settings() {
  sifted /proc/cmdline "$scrub"
  set --
  for item in $sysctls; do
    set -- "$@" "/proc/sys/$item"
  done
  set -- "$@" /sys/kernel/mm/transparent_hugepage/enabled
  missing "$@"
  for item in latency min_granularity wakeup_granularity migration_cost; do # up to 5.12
    set -- "$@" "/proc/sys/kernel/sched_${item}_ns"
  done
  set -- "$@" /proc/sys/kernel/sched_nr_migrate /proc/sys/kernel/sched_tunable_scaling
  for item in latency_ns min_granularity_ns wakeup_granularity_ns base_slice_ns migration_cost_ns nr_migrate \
    tunable_scaling preempt; do
    set -- "$@" "/sys/kernel/debug/sched/$item"
  done
  values_there "$@"
  if locate /sys/kernel/debug/sched; then
    :
  elif locate /sys/kernel/debug && ! [ -x "$found" ]; then
    absent /sys/kernel/debug/sched 'debugfs needs root'
  else
    absent /sys/kernel/debug/sched 'no debugfs, or a kernel before 5.13'
  fi
  modules
}

modules() { # names of what is loaded; versions of drivers and file systems of this trade
  sifted /proc/modules 's/ .*//'
  set --
  for item in $whole; do
    case $item in
      mlx* | ib_* | rdma* | iw_* | hfi1 | qib | irdma | efa | cxi* | ice | i40e | bnxt* | nvidia* | gdrdrv | amdgpu | \
        nvme | nfs | nfsv4 | lustre | lnet | ko2iblnd | ksocklnd | beegfs | mmfs* | xpmem | knem | zfs)
        set -- "$@" "/sys/module/$item/version"
        ;;
    esac
  done
  values_there "$@"
}
