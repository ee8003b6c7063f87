"""Environment modules and Lmod."""

from collections.abc import Sequence

from seatrial.launch.environments.kind import Kind, Where, Words, shell_argv

TEXT = r"""
left=$1
shift
here() { . "$1" </dev/null >&2; }
for init in "${MODULESHOME:-}/init/sh" /usr/share/lmod/lmod/init/sh /usr/share/modules/init/sh \
    /usr/share/Modules/init/sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /etc/profile.d/modules.sh; do
    command -v module >/dev/null 2>&1 && break
    [ -r "$init" ] && here "$init"
done
command -v module >/dev/null 2>&1 || {
    echo "seatrial: there is no module command here: no init/sh of environment modules or Lmod" >&2
    exit 96
}
while [ "$left" -gt 0 ]; do
    module load "$1" </dev/null >&2 || {
        printf 'seatrial: module load %s failed\n' "$1" >&2
        exit 96
    }
    shift
    left=$((left - 1))
done
exec "$@"
"""
"""Both bring `module` along in init/sh, a shell function; what it prints must not mix with the probe's records."""


def wrap(words: Words, _folders: Words, argv: Sequence[str]) -> list[str]:
    """Load the modules in order, then become argv."""
    return shell_argv(TEXT, "seatrial-module", words, argv)


MODULE = Kind(
    name="module",
    form="NAME...",
    where=Where.OUTSIDE,
    wrap=wrap,
    keeping="See by `module show` which of these modules unsets them.",
)
