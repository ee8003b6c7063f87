# Which kernel runs, and how it is set.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses

kernel() {
  for item in hostname ostype osrelease version random/boot_id; do
    value "/proc/sys/kernel/$item"
  done
}
