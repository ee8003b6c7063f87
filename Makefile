# make demo: a planted fault, found and named, on a virtual cluster. make test: everything.
.PHONY: demo test beside-labs lint unit core unit-series properties lab-test lab-beside lab-alone campaign restorations series hidden proofs
.PHONY: accounted monitored lab-series pair-programs qualified job-histories probe bench stories gallery
.PHONY: simulate-series simulate-year ablation random-checks other-systems setup-demo setup-test wheelhouse wheelhouse-test applications map-faults fuzz clean

export MPICC ?= mpicc
# Compiled modules are kept: tests start hundreds of commands, and each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = env -u MAKEFLAGS .venv/bin/python -m pytest --durations=10

demo: setup-demo
	sh scripts/demo.sh

# While lab tests wait for Slurm, all that needs no lab takes the processor time that is left, and prints at its end.
test: setup-test
	rm -rf build/beside
	$(MAKE) --jobs=2 lab-beside beside-labs
	$(MAKE) lab-alone

# The tests of the core come first: each worker of the other unit tests then finds all modules compiled.
beside-labs: setup-test
	@sh scripts/beside.sh $(MAKE) lint probe core
	@sh scripts/beside.sh $(MAKE) unit LEFT_OUT="$(CORE:%=--ignore=%)"

lint: setup-test
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

probe: setup-test
	$(MAKE) -C probe strict test

# Half as many workers again as there are cores: many tests wait for programs that they started. Each begins with a part
# of its own, so that what the tests of a file share is made once, and takes tests of others when it has done its part.
WORKERS ?= $(shell expr $$(nproc) \* 3 / 2)
unit: setup-test
	sh scripts/in_memory.sh $(PYTEST) tests/unit $(LEFT_OUT) -m "not alone and not series" -n $(WORKERS) --dist worksteal

# Pure rooms whose tests only compute, and judge no clock: they may be slowed down at will.
CORE = $(addprefix tests/unit/,benchmarks drift importers judgement limits locate model pairs render rules statistics)
core: compiled
	sh scripts/in_memory.sh $(PYTEST) $(CORE) -m "not series" -n $$(nproc) --dist worksteal

# What the usual run leaves out: cases of long tests (tests/support/usual_cases.py), large simulated clusters, every
# option with every hostile value, long series of draws.
unit-series: compiled
	$(PYTEST) tests/unit --ignore=$(PAIR_SERIES) -m series -n $$(nproc) --dist worksteal

# Property tests with inputs that nobody has seen.
properties: compiled
	SEATRIAL_PROPERTIES=drawn $(PYTEST) tests/unit -m hypothesis -n $$(nproc) --dist worksteal

compiled: setup-test
	.venv/bin/python -m pytest --collect-only --quiet --quiet tests/unit

lab-test: lab-beside lab-alone

# Lab tests that mostly wait for Slurm, the longest files first (tests/lab/conftest.py). With three labs at once on two
# cores, measurements disturb each other and are repeated: that takes longer than two. Checks of faults that may be
# overlooked come last, four at once and beside unit tests that have three times their weight: they have a minute each,
# and on a busy machine they may name less, and pass nothing.
LANES ?= 2
DISTURBED = tests/lab/test_hidden_faults.py
lab-beside: setup-test
	status=0; \
	$(PYTEST) tests/lab --ignore=$(DISTURBED) -m "not alone and not series" -n $(LANES) --dist loadgroup \
		--no-loadscope-reorder || status=$$?; \
	sh scripts/beside.sh --weight -5; \
	$(PYTEST) $(DISTURBED) -n 4 --dist worksteal || status=$$?; \
	sh scripts/beside.sh --weight 0; \
	exit $$status

# Tests that judge what they measured: nothing else may take the cores. One of them needs no lab.
lab-alone: setup-test
	$(PYTEST) tests/unit/commands/link/curve/test_pingpong.py tests/lab -m "alone and not series"

# 150 short jobs of three users on six nodes with slurmdbd, one of them slow: does `seatrial jobs` agree with sacct?
accounted: setup-test
	.venv/bin/python -m tests.accounted

# 100 jobs of three users while `seatrial metrics` is called every 5 s: do Prometheus and Graphite have what Slurm says?
monitored: setup-test
	.venv/bin/python -m tests.monitored

# What takes half a minute of a lab or more and is left out of `make test`: an archive on NFS, nodes that go down, what one
# can type, 20 switches of modes, 50 drains by a person beside those of the gate, slices of qualify; an hour, as root.
lab-series: setup-test
	$(PYTEST) tests/lab -m series --ignore=tests/lab/test_pair_program.py

# `check --pair-program` with stand-ins for osu_bw and sendrecv_perf: RUNS checks of each fault and of a healthy lab, and
# the same on sixteen simulated nodes with the starts counted; about an hour, as root.
RUNS ?= 10
PAIR_SERIES = tests/unit/commands/check/test_pair_series.py
pair-programs: setup-test
	$(PYTEST) $(PAIR_SERIES) -m series
	SEATRIAL_PAIR_RUNS=$(RUNS) $(PYTEST) tests/lab/test_pair_program.py -m series

# 50 jobs on six nodes, without and beside `seatrial qualify` without a pause: is one delayed by more than 5 s? As root.
qualified: setup-test
	.venv/bin/python -m tests.qualified $(SEED)

SEED ?= 1
campaign: KILLS ?= 100
campaign: setup-test
	.venv/bin/python -m tests.campaign --kills $(KILLS) --seed $(SEED)

# Processes killed while a setting of a node is changed: KILLS of each kind, during each of two commands.
restorations: KILLS ?= 20
restorations: setup-test
	.venv/bin/python -m tests.restorations --kills $(KILLS) --seed $(SEED)

# Real benchmarks of Debian packages (some hundred MB with OpenFOAM and LAMMPS) on a virtual cluster; minutes, as root.
applications: setup-test
	sh scripts/setup.sh applications
	$(PYTEST) tests/applications

# The demo and tests of Slurm and MPI on other versions of both, each in a root of its own; about half an hour, as root.
SYSTEMS ?= own trixie sid
other-systems: setup-test
	sh scripts/other_systems.sh $(SYSTEMS)

REPEAT ?= 20
HEALTHY ?= 50
SCENARIOS ?=
series: setup-test
	.venv/bin/python -m tests.series --repeat $(REPEAT) --healthy $(HEALTHY) $(SCENARIOS)

# Faults that a check may overlook, FEW of each, on a quiet machine and beside BUSY programs that take its cores (each of
# them once, beside other tests, in lab-beside).
FEW ?= 5
BUSY ?= 8
hidden: setup-test
	.venv/bin/python -m tests.series --hidden --repeat $(FEW) --json build/series/hidden.json
	.venv/bin/python -m tests.series --hidden --repeat $(FEW) --beside $(BUSY) --json build/series/hidden-busy.json

# Changes that can be taken back, each planted, compared and proved on a virtual cluster, and runs without a change.
PROOF_RUNS ?= 3
UNCHANGED ?= 20
KINDS ?=
proofs: setup-test
	.venv/bin/python -m tests.proofs --runs $(PROOF_RUNS) --unchanged $(UNCHANGED) $(KINDS)

# The field reports as stories, each told on a virtual cluster with the commands that their people would type.
STORIES ?=
stories: setup-test
	.venv/bin/python -m tests.stories $(STORIES)

# Every picture of docs/gallery.md, from recorded and simulated data, in build/gallery; a minute.
gallery: setup-test
	.venv/bin/python -m tests.gallery

bench: setup-test
	sh bench/run.sh

# Faults planted at random places of generated fabric maps, and of MAPS, DRAWS of each kind.
DRAWS ?= 100
MAPS ?=
map-faults: setup-test
	.venv/bin/python -m bench.planted_map_faults $(DRAWS) $(MAPS)

# Histories made of recorded jobs, SEEDS of each kind from SEED on: does `seatrial jobs` name what is planted in them?
SEEDS ?= 20
job-histories: setup-test
	.venv/bin/python -m bench.job_histories --seed $(SEED) --seeds $(SEEDS)

SERIES ?=
simulate-series: setup-test
	.venv/bin/python bench/simulate_series.py $(SERIES)

# Simulated checks without each mechanism of the judging core, beside those of the full program: `ABLATION="--seeds 3"`,
# `ABLATION='--only "last look"'`. About ten minutes on two cores.
ABLATION ?=
ablation: setup-test
	.venv/bin/python -m bench.ablation $(ABLATION)

# Checks of simulated fabrics and faults that are drawn at random, and which of them were wrong: `RANDOM=200` a family.
RANDOM ?= 60
random-checks: setup-test
	.venv/bin/python -m bench.ablation --random $(RANDOM) --only none --full

# A year of `seatrial qualify` on 1,000 simulated nodes: coverage by week, and false alarms; half a minute.
simulate-year: setup-test
	.venv/bin/python bench/qualified_year.py $(SEED)

# Random inputs for every reader of text from outside. Inputs that fail are kept in build/fuzz.
INPUTS ?= 1000000
fuzz: setup-test
	.venv/bin/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED)

# For machines without internet access: wheels in build/wheelhouse for this machine's kind of Python, or for
# PYTHON_VERSIONS="3.12 3.13" and MACHINE=aarch64.
export PYTHON_VERSIONS MACHINE
wheelhouse:
	sh scripts/wheelhouse.sh

# Collects wheels for all these Pythons with the first, installs them without an index, and measures with each.
PYTHONS ?= python3.11 python3.12 python3.13
wheelhouse-test:
	sh scripts/wheelhouse_test.sh $(PYTHONS)

setup-demo:
	sh scripts/setup.sh demo

setup-test:
	sh scripts/setup.sh test

clean:
	rm -rf .venv build seatrial-runs seatrial-demo.html
