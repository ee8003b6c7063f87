#!/bin/sh
# The demo and tests of Slurm and MPI on this machine's own versions and on those of other releases of Debian, each in a
# root of its own, which is made with debootstrap from the mirror and the settings that this machine's apt has.
# usage: other_systems.sh [own|trixie|sid]...     as root; another suite of Debian works as well
# Roots stay in OTHER_ROOTS (build/other) and are updated by the next run; about 3 GB each. Exit code 1 if anything fails.
set -eu
cd "$(dirname "$0")/.."
roots=${OTHER_ROOTS:-$PWD/build/other}
logs=$PWD/build/other-systems
say() { echo "other-systems: $*"; }

# Tests of Slurm's text, and lab tests of what depends on the versions of Slurm, MPI, MariaDB and util-linux.
texts="tests/unit/slurm tests/unit/failures/test_wild_start.py tests/unit/failures/test_rank_deaths.py"
labs="tests/lab/test_slurm_contract.py tests/lab/test_mpiexec.py tests/lab/test_gate.py
    tests/lab/test_lab_cluster.py::test_every_node_runs_jobs_under_its_own_name
    tests/lab/test_lab_cluster.py::test_slurm_knows_the_switches
    tests/lab/test_lab_cluster.py::test_a_lab_stands_in_a_mount_namespace_of_its_own_whatever_its_number
    tests/lab/test_lab_cluster.py::test_down_leaves_nothing
    tests/lab/test_lab_faults.py::test_lives_end_or_stand_still_and_come_back
    tests/lab/test_lab_faults.py::test_loads_are_planted_on_one_node_and_leave_nothing
    tests/lab/test_accounts.py::test_a_job_has_all_that_the_options_say
    tests/lab/test_environments.py::test_what_env_i_hides_from_the_ranks_is_named
    tests/lab/test_doctor.py::test_pmi2_with_open_mpi_and_a_binary_missing_on_one_node
    tests/lab/test_hosts.py::test_a_host_that_cannot_be_measured_is_named_and_the_others_are_measured"

# within ROOT COMMAND...: with ROOT as /, in a mount namespace of its own. By pivot_root, since `ip -n` needs a / that is
# a mount point, which that of chroot is not.
within() {
    root=$1
    shift
    # shellcheck disable=SC2016 # expanded in the new namespace
    env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin unshare --mount sh -c '
        set -e
        root=$1
        shift
        mount --make-rprivate /
        mount --bind "$root" "$root"
        cd "$root"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        mount -t tmpfs tmpfs run
        mount -t tmpfs -o mode=1777 tmpfs tmp
        mkdir -p .old
        pivot_root . .old
        cd /
        umount -l /.old
        exec "$@"' sh "$root" "$@"
}

mirror() {
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list 2>/dev/null |
        grep -v security | head -n 1
}

make_root() {
    suite=$1 root=$2
    [ ! -e "$root/.made" ] || return 0
    command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$suite" "$root" "$(mirror)"
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/"
    [ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc/"
    within "$root" sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends make git python3-venv ca-certificates procps'
    # last, since the package writes its own: the certificates that this machine trusts, for pip
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    touch "$root/.made"
}

# run_in LOG WHERE COMMAND...: in a root, or in this tree for WHERE = own
run_in() {
    log=$1 where=$2
    shift 2
    if [ "$where" = own ]; then "$@" >"$log" 2>&1; else within "$where" env -C /src "$@" >"$log" 2>&1; fi
}

# shellcheck disable=SC2016 # expanded where it runs
versions='echo "$(slurmctld -V), $(ompi_info --version | head -n 1), MPICH $(mpichversion | sed -n "s/^MPICH Version: *//p"), \
$(python3 --version), $(unshare --version | sed "s/unshare from //"), Linux $(uname -r)"'

failed=""
# try NAME WHERE WHAT COMMAND...
try() {
    name=$1 where=$2 what=$3
    shift 3
    log=$logs/$name-$what.log
    if run_in "$log" "$where" "$@"; then
        say "$name: $what passed: $(grep -E '^[0-9]+ passed|passed.* in |^(SLOW|PASS) ' "$log" | tail -n 1)"
    else
        failed="$failed $name:$what"
        say "$name: $what FAILED, see $log"
        tail -n 5 "$log" | sed 's/^/    /'
    fi
}

[ "$(id -u)" = 0 ] || { say "roots and virtual clusters need root"; exit 1; }
mkdir -p "$logs"
[ $# -gt 0 ] || set -- own trixie sid
for name in "$@"; do
    if [ "$name" = own ]; then
        where=own
    else
        where=$roots/$name
        say "$name: preparing $where"
        make_root "$name" "$where" >"$logs/$name-root.log" 2>&1 ||
            { failed="$failed $name:root"; say "$name: no root could be made, see $logs/$name-root.log"; continue; }
        mkdir -p "$where/src"
        find "$where/src" -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
        tar -cf - --exclude-vcs --exclude=./.venv --exclude=./build --exclude=./seatrial-runs --exclude=__pycache__ . |
            tar -xf - -C "$where/src"
    fi
    run_in "$logs/$name-setup.log" "$where" sh scripts/setup.sh test ||
        { failed="$failed $name:setup"; say "$name: setup FAILED, see $logs/$name-setup.log"; continue; }
    run_in "$logs/$name-versions.log" "$where" sh -c "$versions" || true
    say "$name: $(cat "$logs/$name-versions.log")"
    try "$name" "$where" demo sh scripts/demo.sh
    # shellcheck disable=SC2086 # names of files and tests hold no blanks
    try "$name" "$where" texts .venv/bin/python -m pytest -q $texts
    # shellcheck disable=SC2086
    try "$name" "$where" labs .venv/bin/python -m pytest -q -m "not series" $labs
done
[ -z "$failed" ] || { say "failed:$failed"; exit 1; }
say "passed on $*"
