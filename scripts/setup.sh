#!/bin/sh
# Installs what is missing: system packages as root on a Debian-like machine, then the virtual environment .venv.
# usage: setup.sh demo|test|applications
set -eu
cd "$(dirname "$0")/.."
purpose=${1:-demo}

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf 'setup: %s\n' "$*" >&2; }
# The packages that this release of the distribution has: tests that need another one are skipped.
known() { for package in "$@"; do if apt-cache show "$package" >/dev/null 2>&1; then echo "$package"; fi; done; }

# command:package, wanted where the command is not there
wanted="slurmctld:slurmctld slurmd:slurmd srun:slurm-client mpirun:openmpi-bin mpicc:libopenmpi-dev lstopo-no-graphics:hwloc-nox
        ip:iproute2 nft:nftables nsenter:util-linux mkfs.ext4:e2fsprogs gcc:gcc make:make"
if [ "$purpose" = test ]; then
    wanted="$wanted clang:clang mpicc.mpich:libmpich-dev mpiexec.mpich:mpich chromium:chromium
            modulecmd:environment-modules lua5.3:lua5.3 nix:nix-bin
            ibsim:ibsim-utils ibnetdiscover:infiniband-diags opensm:opensm
            slurmdbd:slurmdbd mariadbd:mariadb-server
            prometheus:prometheus prometheus-node-exporter:prometheus-node-exporter
            carbon-cache:graphite-carbon graphite-manage:graphite-web
            sshd:openssh-server strace:strace linux.uml:user-mode-linux exportfs:nfs-kernel-server mount.nfs:nfs-common modprobe:kmod"
fi
if [ "$purpose" = applications ]; then
    wanted="hpcc:hpcc fio:fio NPopenmpi:netpipe-openmpi simpleFoam:openfoam lmp:lammps
            gmx_mpi:gromacs pw.x:quantum-espresso"
    [ -d /usr/share/doc/openfoam-examples ] || wanted="$wanted openfoam-examples:openfoam-examples"
fi

. scripts/find_python.sh

packages=
for pair in $wanted; do
    have "${pair%%:*}" || packages="$packages ${pair#*:}"
done
[ "$purpose" != test ] || [ -f /usr/lib/python3/dist-packages/fusepy.py ] || packages="$packages python3-fusepy"
case $packages in *lua5.3*) packages="$packages lua-filesystem lua-json lua-posix lua-term" ;; esac
[ -n "$(find_python)" ] || packages="$packages python3 python3-venv"

if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        say "installing$packages"
        log=$(mktemp)
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2046,SC2086 # package names hold no blanks
        if ! { apt-get update -q && apt-get install -q -y --no-install-recommends $(known $packages); } >"$log" 2>&1; then
            tail -n 20 "$log" >&2
            say "apt-get failed; its last words are above"
            rm -f "$log"
            exit 1
        fi
        rm -f "$log"
    else
        say "not here, and only root can install them:$packages"
    fi
fi

python=$(find_python)
if [ -z "$python" ]; then
    say "Python 3.11 or newer with venv is needed; name one by PYTHON=/path/to/python3"
    exit 1
fi
# Debian's Lmod and environment modules exclude each other: Lmod is unpacked into .venv, and its paths are rewritten,
# while packages for Python are fetched
unpack_lmod() (
    mkdir -p .venv/lmod
    cd .venv/lmod
    apt-get download -q lmod || { apt-get update -q && apt-get download -q lmod; } || exit 1
    dpkg-deb -x lmod_*.deb . || exit 1
    grep -rlIF /usr/share/lmod . | xargs sed -i "s#/usr/share/lmod#$PWD/usr/share/lmod#g"
    rm lmod_*.deb
    usr/share/lmod/lmod/libexec/lmod --version
)
lmod=
if [ "$purpose" = test ] && [ ! -x .venv/lmod/usr/share/lmod/lmod/libexec/lmod ] && have lua5.3 && have apt-get; then
    say "unpacking Lmod into .venv"
    unpack_lmod >/dev/null 2>&1 &
    lmod=$!
fi
stamp=.venv/.installed
wheels=.venv/wheels # tests install from them as users do from an index
if [ ! -f "$stamp" ] || [ ! -d "$wheels" ] || [ requirements.txt -nt "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    say "preparing .venv"
    "$python" -m venv .venv
    rm -rf "$wheels"
    .venv/bin/python -m pip wheel -q --disable-pip-version-check --require-hashes --wheel-dir "$wheels" -r requirements.txt
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-index --no-deps "$wheels"/*.whl
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
    ln -sf ../../gate/seatrial-gate .venv/bin/seatrial-gate # pip copies it once, and this tree's changes
    touch "$stamp"
fi
# axe-core (MPL-2.0) looks at pages for what readers cannot perceive: npm fetches it into build, and its checksum is compared
axe=axe-core-4.14.1
axe_sha512=1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b734f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5
unpack_axe() (
    mkdir -p build/axe
    cd build/axe
    npm pack --silent "axe-core@${axe##*-}" || exit 1
    echo "$axe_sha512  $axe.tgz" | sha512sum --check --quiet - || exit 1
    tar -xzf "$axe.tgz" package/axe.min.js package/LICENSE || exit 1
)
if [ "$purpose" = test ] && [ ! -f build/axe/package/axe.min.js ]; then
    if have npm && unpack_axe >/dev/null 2>&1; then
        say "axe-core is in build/axe"
    else
        rm -rf build/axe
        say "axe-core could not be had (npm fetches it): its test will be skipped"
    fi
fi
[ -z "$lmod" ] || wait "$lmod" || { rm -rf .venv/lmod; say "Lmod could not be had: its tests will be skipped"; }
if ! have mpicc && [ ! -x .venv/bin/mpicc ]; then
    say "no MPI on this machine: taking the one on PyPI into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-mpi.txt
fi
