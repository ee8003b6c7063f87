"""A limit on the size of files, as `ulimit -f` sets it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def largest_file(most_bytes: int) -> Iterator[None]:
    """No file of this process gets larger within the block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
