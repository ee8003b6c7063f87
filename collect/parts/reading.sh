# More ways to read files: many at once, and with a filter.
# shellcheck shell=sh disable=SC2034,SC2154 # a part of facts.sh, whose tools and variables it uses

# What is left out of command lines and mounts: addresses, UUIDs, users, secrets. For `sed -E`.
scrub='s/\[[0-9A-Fa-f]*:[0-9A-Fa-f:.%]*\]/ADDRESS/g
s/(^|[^0-9A-Za-z.-])([0-9]{1,3}\.){3}[0-9]{1,3}/\1ADDRESS/g
s/([0-9A-Fa-f]{2}[:-]){5,}[0-9A-Fa-f]{2}/ADDRESS/g
s/(addr=)[0-9A-Fa-f]*:[0-9A-Fa-f:.%]*/\1ADDRESS/g
s/[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}/UUID/g
s/([ ,](user|username|user_id|group_id|uid|gid|cruid|name)=)[^ ,]*/\1HIDDEN/g
s/((^|[ ,])[^ ,=]*([Pp]assw|[Ss]ecret|[Tt]oken)[^ ,=]*=)[^ ,]*/\1HIDDEN/g'

missing() { # PATH...: says which of them are not there
  for path; do
    locate "$path" || absent "$path" 'no such file'
  done
}

# Not by `read`: it asks for single bytes, and of a number in /proc/sys the kernel answers only the first of these.
# patience=limited: where some may hang.
values_there() { # PATH...: those that are there of these files of one line each, by one `grep` for all of them
  names='' files=''
  for path; do
    if locate "$path"; then names=$names${names:+$newline}$path files=$files${files:+$newline}$found; fi
  done
  [ -n "$files" ] || return 0
  IFS=$newline
  # shellcheck disable=SC2086 # split at the ends of lines
  answers=$(${patience:-} grep -s '' $files /dev/null 2>/dev/null </dev/null)
  # shellcheck disable=SC2086
  set -- $answers
  for path in $names; do
    unset IFS
    locate "$path"
    while [ $# -gt 0 ]; do # what grep says itself begins with no slash
      case $1 in
        /*) break ;;
      esac
      shift
    done
    case ${1:-} in
      "$found:"*) printf '@value %s|%s\n' "$path" "${1#"$found:"}" ;;
      *) absent "$path" 'empty or not readable' ;;
    esac
    while [ $# -gt 0 ]; do
      case $1 in
        "$found:"*) shift ;;
        *) break ;;
      esac
    done
  done
  unset IFS
}

globbed() { # PATTERN: sets paths to the files it stands for, over all roots, divided by newlines
  paths='' IFS=:
  for root in $roots; do
    unset IFS
    base=$root
    set +f
    # shellcheck disable=SC2086 # the pattern is meant as one
    for entry in "$base"$1; do
      set -f
      [ -e "$entry" ] || continue
      path=${entry#"$base"}
      locate "$path"
      [ "$found" != "$entry" ] || paths=$paths${paths:+$newline}$path # not what an earlier root has too
    done
    set -f
  done
  unset IFS
}

sifted() { # PATH SED-SCRIPT: of a longer file, what the script leaves of it, at most 512 lines; sets whole to it
  whole=''
  if ! locate "$1"; then
    absent "$1" 'no such file'
  elif whole=$(sed -E -e "$2" -e 512q "$found" 2>/dev/null </dev/null); then
    printf '@file %s\n' "$1"
    quoted "$whole"
    printf '@end\n'
  else
    absent "$1" 'not readable'
  fi
}

quoted() { # TEXT: its lines, each behind a bar
  IFS=$newline
  for line in $1; do
    printf '|%s\n' "$line"
  done
  unset IFS
}

not_run=127

as_it_is() { # COMMAND ARGUMENT...: whether nothing is laid over the machine; a command would know nothing of that
  if [ "$roots" != /. ]; then
    absent "$*" 'recorded or overlaid machine'
    return "$not_run"
  fi
}

run_kept() { # SED-SCRIPT COMMAND ARGUMENT...: of its standard output what `sed -n` prints; its status, or $not_run
  script=$1
  shift
  can_run "$@" || return "$not_run"
  whole=$(limited "$@" 2>/dev/null </dev/null)
  status=$?
  printf '@command %s\n' "$*"
  [ -z "$whole" ] || printf '%s\n' "$whole" | sed -n "$script"
  printf '@end %s\n' "$status"
  return "$status"
}

run_slow() { # SED-SCRIPT COMMAND ARGUMENT...: what the script leaves of its output; not where facts are asked in haste
  if [ "$live" = yes ] && ! asked_all; then
    shift
    absent "$*" 'not asked'
    return 1
  fi
  run_sifted "$@"
}

run_sifted() { # SED-SCRIPT COMMAND ARGUMENT...: what the script leaves of its output
  script=$1
  shift
  can_run "$@" || return 1
  whole=$(limited "$@" 2>&1 </dev/null)
  status=$?
  printf '@command %s\n' "$*"
  if [ "$status" -eq 0 ]; then whole=$(printf '%s\n' "$whole" | sed -E "$script"); fi
  quoted "$whole"
  printf '@end %s\n' "$status"
  return "$status"
}
