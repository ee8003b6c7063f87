"""An `ssh` for tests: it carries out the remote command here, or fails as OpenSSH does, by the name of the host."""

import shlex
from pathlib import Path

import pytest

SCRIPT = """\
#!/bin/bash
# ssh -T -o ... -- HOST COMMAND...
while [ "$1" != -- ]; do shift; done
host=$2; shift 2
echo "$host: $*" >>{log}
case $host in
    refused*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
    password*) echo "root@$host: Permission denied (publickey,password)." >&2; exit 255 ;;
    hangs*) exec sleep 600 ;;
    silent*) exit 0 ;;
    mute*) [ "$#" != 4 ] || exec sleep 600 ;;
esac
exec unshare --uts --mount sh -c 'hostname "$0" 2>/dev/null; cd /; exec /bin/sh -c "$*"' "${{host#alias-}}" "$@"
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put it first on PATH; returns the file that lists `HOST: command` for each call."""
    folder.mkdir()
    log = folder / "calls"
    log.touch()
    program = folder / "ssh"
    program.write_text(SCRIPT.format(log=shlex.quote(str(log))))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return log
