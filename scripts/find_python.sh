# For other scripts: find_python prints the first Python of 3.11 or later that can make virtual environments.
good_python() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if good_python "$python"; then echo "$python"; return; fi
    done
}
