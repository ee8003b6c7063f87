# GPUs, by the programs of their drivers; no serial numbers and no UUIDs.
# shellcheck shell=sh disable=SC2034,SC2154 # a part of facts.sh, whose tools and variables it uses

# Lists of clocks and processes are long, and say nothing of the hardware.
smi_kept='/<supported_clocks>/,/<\/supported_clocks>/d
/<(accounted_)?processes>/,/<\/(accounted_)?processes>/d
/<(serial|uuid|board_id|gpu_part_number|board_part_number|module_id|minor_number|timestamp|chassis_serial_number)>/d'
link_kept='s/ \(UUID: [^)]*\)//'
amd_kept='s/"(Unique ID|Serial Number|unique_id|serial|asic_serial|product_serial|uuid|hw_id|oam_id)": *("[^"]*"|[0-9]+)/"\1": ""/g'

gpus() {
  patience_s=30 # without persistence mode the driver initialises each GPU first
  if run_slow "$smi_kept" nvidia-smi -q -x; then
    run_slow '' nvidia-smi topo -m
    run_slow "$link_kept" nvidia-smi nvlink -s
    run_slow "$link_kept" nvidia-smi nvlink -e
  fi
  run_slow "$amd_kept" amd-smi static --json && run_slow "$amd_kept" amd-smi metric --json
  run_slow "$amd_kept" rocm-smi -a --json
  patience_s=''
}
