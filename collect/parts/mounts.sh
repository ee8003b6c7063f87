# What is mounted, and what of it answers.
# shellcheck shell=sh disable=SC2154 # a part of facts.sh, whose tools and variables it uses
# SEATRIAL_PATHS: absolute paths, colon-separated, that should be reachable.

automounter() { # its master maps and the maps that they name, in their order
  globbed '/etc/auto.master.d/*.autofs'
  masters=/etc/auto.master${paths:+$newline}$paths
  IFS=$newline
  for master in $masters; do
    unset IFS
    automounter_map "$master"
    maps=$(printf '%s\n' "$whole" | sed -n -E 's!^[[:space:]]*/[^[:space:]]*[[:space:]]+((file|yp|nis)[,a-z]*:)?(/?[A-Za-z0-9._][^[:space:]:]*)([[:space:]].*)?$!\3!p')
    IFS=$newline
    for map in $maps; do
      unset IFS
      automounter_map "$map"
    done
  done
  unset IFS
}

automounter_map() { # PATH|NAME: a file, or a file in /etc or a map of NIS by its name; and those of NIS that it includes
  entries="/^[[:space:]]*(#|\$)/d
$scrub"
  case $1 in
    /*) sifted "$1" "$entries" ;;
    *) if locate "/etc/$1"; then sifted "/etc/$1" "$entries"; else nis_map "$1"; fi ;;
  esac
  text=$whole
  for name in $(printf '%s\n' "$whole" | sed -n -E 's/^\+([A-Za-z0-9._-]+).*/\1/p'); do
    nis_map "$name"
    text=$text$newline$whole
  done
  whole=$text
}

nis_map() { # NAME: sets whole to its lines; only of paths that are asked for, since its keys may be all users of a site
  whole=''
  can_run ypcat -k "$1" || return 0
  answer=$(limited ypcat -k "$1" 2>/dev/null </dev/null)
  status=$?
  asked=/$(printf '%s' "${SEATRIAL_PATHS:-}" | tr : /)/
  IFS=$newline
  for line in $answer; do
    key=${line%%[[:blank:]]*}
    case $key in
      '' | '#'*) continue ;;
      /* | '*' | +*) ;;
      *)
        case $asked in
          */"$key"/*) ;;
          *) continue ;;
        esac
        ;;
    esac
    whole=$whole${whole:+$newline}$line
  done
  unset IFS
  whole=$(printf '%s\n' "$whole" | sed -E "$scrub")
  printf '@command ypcat -k %s\n' "$1"
  quoted "$whole"
  printf '@end %s\n' "$status"
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
