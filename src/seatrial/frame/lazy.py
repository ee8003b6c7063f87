"""How modules are loaded: our own when something of them is used first, and NumPy without threads.

Command files import at the top what they use, as modules: `from seatrial.driver import detached`. With `install` such
an import only finds the module, so that `--help` and light commands do not pay for what others need. Importing names
(`from seatrial.model.run import RunInfo`) executes a module at once, as usual.
"""

import os
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

PACKAGE = "seatrial."
THREADS = "OPENBLAS_NUM_THREADS"
"""OpenBLAS starts a thread and reserves tens of MiB for each core of a login node as NumPy is loaded, and ends the
process where it cannot have them. Our matrices need none."""
LOCK = threading.RLock()
EXECUTING: set[str] = set()
"""Names of modules that are being executed."""


class LazyModule(ModuleType):
    """A module that has been found, and is executed when it is asked for a name."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # the import system looks for some of these, such as __path__
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        with LOCK:  # another thread may just be executing it
            if type(self) is LazyModule and self.__name__ not in EXECUTING:
                EXECUTING.add(self.__name__)
                try:
                    assert isinstance(self.__loader__, LazyLoader)  # noqa: S101 - it made this module
                    self.__loader__.execute(self)
                    self.__class__ = ModuleType  # type: ignore[assignment]
                finally:
                    EXECUTING.discard(self.__name__)
            return object.__getattribute__(self, name)


class LazyLoader(SourceFileLoader):
    """Makes modules that are executed later."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Errors as of importlib."""
        return LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet."""

    def execute(self, module: ModuleType) -> None:
        """Run the module's code."""
        super().exec_module(module)


class ThreadlessLoader(SourceFileLoader):
    """Loads NumPy for one core; programs that are started later have the variable as the user set it."""

    def exec_module(self, module: ModuleType) -> None:
        """Errors as of importlib."""
        threads = os.environ.pop(THREADS, None)
        os.environ[THREADS] = "1"
        try:
            super().exec_module(module)
        finally:
            del os.environ[THREADS]
            os.environ |= {} if threads is None else {THREADS: threads}


class LazyFinder:
    """Finds our own modules and NumPy; of ours not the packages, which have their submodules as attributes."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec with its loader; None for what others find."""
        if name != "numpy" and not name.startswith(PACKAGE):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        if name == "numpy":
            spec.loader = ThreadlessLoader(name, spec.origin)
        elif spec.submodule_search_locations is None:
            spec.loader = LazyLoader(name, spec.origin)
        return spec


def install() -> None:
    """Put off the modules that are imported after this call."""
    if LazyFinder not in sys.meta_path:
        sys.meta_path.insert(0, LazyFinder)
