# What is mounted, and what of it answers.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses
# SEATRIAL_PATHS: absolute paths, colon-separated, that should be reachable.

automounter() { # its master map and the files that it names, in their order; or, as root, what it says of all its maps
  globbed '/etc/auto.master.d/*.autofs'
  masters=/etc/auto.master${paths:+$newline}$paths
  IFS=$newline
  for master in $masters; do
    unset IFS
    sifted "$master" "/^[[:space:]]*(#|\$)/d
$scrub"
    maps=$(printf '%s\n' "$whole" | sed -n -E 's!^[[:space:]]*/[^[:space:]]*[[:space:]]+(file[,a-z]*:)?(/[^[:space:]]+).*!\2!p')
    IFS=$newline
    for map in $maps; do
      unset IFS
      sifted "$map" "/^[[:space:]]*(#|\$)/d
$scrub"
    done
  done
  unset IFS
}

mounts() {
  # File systems of one user are his alone, as are those that a user mounts himself (FUSE), anywhere: not even root
  # can look into them, and what does not answer there is no fault of the node.
  sifted /proc/mounts "/^[^ ]* \/run\/user\//d
/^[^ ]* [^ ]* fuse[^ ]* ([^ ]*,)?user_id=[1-9]/d
$scrub"
  mounted_lines=$whole
  if [ "$live" = no ] || [ -n "${SEATRIAL_PATHS:-}" ]; then automounter; fi
  whole=$mounted_lines
  [ "$live" = yes ] || return 0
  set --
  IFS=$newline
  for line in $whole; do
    case $line in
      *' nfs '* | *' nfs4 '* | *' lustre '* | *' gpfs '* | *' beegfs'* | *' cifs '* | *' smb3 '* | *' ceph '* | \
        *' fuse.'* | *' panfs '* | *' orangefs '* | *' pvfs2 '* | *' 9p '* | *' afs '*)
        line=${line#* }
        path=${line%% *}
        case $path in
          *\\* | *ADDRESS* | *UUID* | *HIDDEN*) ;; # not the name it has
          *) [ $# -ge 16 ] || set -- "$@" "$path" ;;
        esac
        ;;
    esac
  done
  unset IFS
  mounted=$#
  IFS=:
  for path in ${SEATRIAL_PATHS:-}; do
    case $path in
      *"$newline"*) ;;
      /*) set -- "$@" "$path" ;;
    esac
  done
  unset IFS
  reach "$@"
}

reach() { # PATH...: which answer; all are asked at once, and after four seconds nobody waits any longer
  if [ $# -eq 0 ]; then
    return
  elif command -v timeout >/dev/null 2>&1 && command -v stat >/dev/null 2>&1; then
    (exec 2>/dev/null && ask "$@") | hear "$@" # by exec: around a function some shells keep the old one open
  else
    absent reach 'needs timeout and stat'
  fi
}

# Whoever asks a dead file server may not even be killable. So each is asked in the background, none holds an output of
# the collector, the answers come through a pipe, and a timer among the askers ends the reading of it.
ask() {
  {
    sleep 4 >/dev/null &
    printf 'timer %s\n' "$!"
    wait
    printf 'end\n'
  } </dev/null &
  number=0
  for path; do
    number=$((number + 1))
    {
      timeout -s KILL 3 stat -f -- "$path" >/dev/null
      printf '%s %s\n' "$number" "$?"
    } </dev/null &
  done
}

hear() {
  left=$# answered=' ' timer=''
  while { [ "$left" -gt 0 ] || [ -z "$timer" ]; } && read -r number status; do
    case $number in
      timer) timer=$status ;;
      end) break ;;
      *) answered="$answered$number:$status " left=$((left - 1)) ;;
    esac
  done
  [ -z "$timer" ] || kill "$timer" 2>/dev/null
  number=0
  for path; do
    number=$((number + 1))
    case $answered in
      *" $number:0 "*) answer=yes ;;
      *" $number:124 "* | *" $number:137 "*) answer='no answer' ;;
      *" $number:"*) answer=no ;;
      *) answer='no answer' ;;
    esac
    if [ "$number" -le "$mounted" ]; then item=mount; else item=reach; fi
    printf '@value %s %s|%s\n' "$item" "$path" "$answer"
  done
}
