# SPDX-License-Identifier: GPL-2.0
# Each target sets up what it needs by itself; `make help` lists them. Everything runs in the tree (scripts/in-tree),
# so that Debian 12 and 13 behave the same. SMARTIO_CACHE=DIR shares the tree and the downloads between checkouts.
SHELL := /bin/bash
export SMARTIO_CACHE := $(abspath $(or $(SMARTIO_CACHE),build/cache))
JOBS ?= $(shell nproc)

tree := scripts/in-tree
programs := build/userspace
ninja := ninja -j $(JOBS)

# make install and modules_install: below DESTDIR if it is given. With KDIR or KSRC the modules are for a kernel of this
# machine, and built on it (scripts/build-modules); without, for the stock kernel of the tree.
PREFIX ?= /usr/local
export DESTDIR KDIR KSRC NTB_SYMVERS

# KERNEL=backports: hosts run that of Debian's backports, and modules are built for it (scripts/setup.d/backports.sh).
ifneq ($(KERNEL),)
export SMARTIO_KERNEL := $(filter-out stock,$(KERNEL))
endif
ifeq ($(KDIR)$(KSRC),)
for_modules := ready
in_tree := $(tree)
endif

.DEFAULT_GOAL := all
.PHONY: all help deb demo demo-failover demo-lending demo-vm setup setup-packages ready build install modules modules_install guest-overlay check check-unit check-tsan check-model check-mutants check-packages check-scale check-long check-debug fuzz \
	fuzz-quick build-fuzz bench bench-quick bench-fabric bench-lending bench-gate bench-gate-renew bench-failover lint clean distclean

all: build modules guest-overlay ## everything that is compiled

help: ## this list
	@awk -F ':.*## ' '/^[a-z_-]+:.*## /{ printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo-failover: build guest-overlay ## two cables pulled and put back under verified I/O, second by second
	@$(tree) scripts/demo-failover

demo-vm: build guest-overlay ## a drive and a virtual function of one host in a virtual machine of another, by the stock vfio-pci; QEMU killed
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --vms
	@$(tree) scripts/demo-vm

demo-lending: build guest-overlay ## a drive and a network card of one host on another, by stock drivers; a cable pulled and put back
	@$(tree) scripts/demo-lending

demo: build guest-overlay ## one drive shared by three hosts: brings a cluster up, uses it, shows it, takes it down
	@$(tree) scripts/demo

setup: ## the tree, the kernel, the guest image (first time: minutes, all in the build folder or SMARTIO_CACHE)
	@scripts/setup

setup-packages: ## as root: installs the packages that README.md names
	@scripts/setup --packages

# What the other targets call: says nothing when all is there; inside the tree there is nothing to set up.
ready:
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet $(if $(filter backports,$(SMARTIO_KERNEL)),--backports)

build: ready ## the C++ programs, in build/userspace
	@[ -e $(programs)/build.ninja ] || $(tree) cmake -S userspace -B $(programs) -G Ninja
	@$(tree) $(ninja) -C $(programs) smartio-fabric smartio-cluster smartio-tcg-count smartio-tcg-fence smartioctl fence_smartio

# It needs nothing that setup makes where this machine's own compiler does; else the tree alone.
install: ## the tools, their manual pages, completion, udev rules and systemd units (DESTDIR, PREFIX)
	@JOBS=$(JOBS) scripts/install-tools $(PREFIX)

deb: ## Debian packages, in build/deb/VERSION, and what lintian says (VERSION=…: another version than packaging/version)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --only packaging
	@SMARTIO_ROOT=packaging $(tree) scripts/build-debs $(VERSION)

check-packages: build ## the packages on hosts with systemd: install, boot, lend, upgrade, remove, purge (PARTS="disk hosts guide"; not in make check)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --packaging
	@SMARTIO_ROOT=packaging $(tree) scripts/build-debs
	@SMARTIO_ROOT=packaging $(tree) scripts/build-debs $$(cat packaging/version).1
	@$(tree) scripts/check-packages $(PARTS)

modules_install: modules ## the modules, in lib/modules/RELEASE/updates (DESTDIR); depmod if DESTDIR is empty
	@scripts/install-modules

modules: $(for_modules) ## the kernel modules, in build/modules (W=1 and C=1 as in the kernel; KDIR, KSRC: another kernel)
	@$(in_tree) scripts/build-modules $(foreach v,W C V,$(if $($(v)),$(v)=$($(v))))

guest-overlay: modules ## what hosts get on top of the guest image: the modules, smartioctl, fence_smartio and programs of tests
	@[ -e $(programs)/build.ninja ] || $(tree) cmake -S userspace -B $(programs) -G Ninja
	@$(tree) $(ninja) -C $(programs) smartioctl fence_smartio guest_programs
	@$(tree) scripts/guest-overlay

check: ready ## the tests: style, prose, unit tests under sanitizers, fuzzers briefly, emulated clusters, a few of them on the second kernel (KERNEL=backports: all but vm/)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --vms $(if $(filter debug,$(SMARTIO_KERNEL)),,--backports)
	@$(tree) scripts/check

check-unit: ready ## the unit tests under ASan and UBSan
	@$(tree) scripts/check unit

check-tsan: ready ## the unit tests that start threads, under TSan
	@$(tree) scripts/check tsan

check-model: ready ## the model of failover, by Spin: every interleaving, and that it finds what missing rules do
	@$(tree) scripts/check model

check-mutants: ready ## what the tests find: each bug of selftests/mutants has to make its tests fail (MUTANTS="NAME…": only these)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --vms
	@$(tree) scripts/check-mutants $(MUTANTS)

check-scale: build guest-overlay ## one drive and 1, 3, 7, 15, 31 borrowers: what attach, fence, recovery cost; build/bench/scale.html (COUNTS="N…": only these)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --plots
	@$(tree) scripts/check-scale $(COUNTS)

check-long: ready ## all tests on all clusters: 10 GiB a host, 200 rounds, 50 rounds with failures, 100 fences, 100 partitions, 2000 events on two links, 200 on hosts that swap, 100 late writes and reads, ten minutes for each fuzzer, a minute for each hostile peer, three mutants; then make check's on the second kernel, what an I/O costs (bench-gate), and the packages (disk, guide)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --vms
	@SMARTIO_LONG=1 TIDY_FILES=0 FAILOVER_EVENTS=2000 LATE_ROUNDS=100 JOIN_ROUNDS=10 SHARE_MIB=10240 SHARE_ROUNDS=200 CLIENT_ROUNDS=50 FENCE_ROUNDS=100 FS_ROUNDS=400 FS_MIB=256 PARTITION_ROUNDS=100 FUZZ_S=600 HOSTILE_S=60 CPUS_ROUNDS=100 SWAP_FLAPS=50 REMOVAL_ROUNDS=20 LENDING_ROUNDS=100 LENDING_ROUGH=50 PRESSURE_EVENTS=200 PRESSURE_MIB=4096 $(tree) scripts/check
	@$(tree) scripts/check-mutants --sample 3
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --backports
	@SMARTIO_KERNEL=backports SMARTIO_RERUN=1 $(tree) scripts/check guests
	@[ -n "$$SMARTIO_IN_TREE" ] || $(MAKE) --no-print-directory bench-gate
	@[ -n "$$SMARTIO_IN_TREE" ] || $(MAKE) --no-print-directory check-packages PARTS="disk guide"

check-debug: ## the drivers' tests on a kernel with KASAN, lockdep, kmemleak, built the first time (KERNEL=debug-backports: the second kernel's source)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet $(if $(filter debug-backports,$(SMARTIO_KERNEL)),--debug-backports,--debug-kernel)
	@SMARTIO_KERNEL=$(or $(filter debug-backports,$(SMARTIO_KERNEL)),debug) SHARE_ROUNDS=$(or $(SHARE_ROUNDS),6) FAILOVER_EVENTS=$(or $(FAILOVER_EVENTS),20) LATE_ROUNDS=$(or $(LATE_ROUNDS),6) $(tree) scripts/check guests

fuzz: ready ## each fuzzer for FUZZ_S seconds (600)
	@FUZZ_S=$(or $(FUZZ_S),600) $(tree) scripts/check fuzz

fuzz-quick: ready ## each fuzzer for 10 seconds
	@FUZZ_S=10 $(tree) scripts/check fuzz

build-fuzz: ready ## the fuzzers, in build/check/asan/bin
	@SMARTIO_RERUN=1 $(tree) scripts/check build_fuzz

bench-fabric: build guest-overlay ## the fabric's figures beside what they are meant to be
	@$(tree) $(ninja) -C $(programs) vfio_user_bench ntb_bench nvme_controller_bench
	@$(tree) scripts/bench-fabric

bench: build guest-overlay ## this driver, the stock driver, NVMe-oF over TCP and RDMA: build/bench/report.html (BENCH_S: seconds a measurement, 30)
	@[ -n "$$SMARTIO_IN_TREE" ] || scripts/setup --quiet --plots
	@$(tree) $(ninja) -C $(programs) smartio-bench-compare
	@scripts/bench-compare

bench-quick: build guest-overlay ## the smallest part of it, in under 5 minutes on a machine that is not overloaded: prints tables
	@$(tree) $(ninja) -C $(programs) smartio-bench-compare
	@BENCH_S=$(or $(BENCH_S),6) scripts/bench-compare --quick --rounds 2

bench-lending: build guest-overlay ## the stock drivers on a drive and a network card that are lent to their host, against its own: instructions, transactions, times
	@$(tree) $(ninja) -C $(programs) smartio-bench-compare
	@BENCH_S=$(or $(BENCH_S),18) scripts/bench-compare --lending --output build/bench/lending.json

bench-gate: build guest-overlay ## fails if an I/O over the link costs 1 % more instructions or transactions than selftests/bench/limits.json says
	@$(tree) $(ninja) -C $(programs) smartio-bench-compare
	@BENCH_S=$(or $(BENCH_S),18) scripts/bench-compare --rounds 3 --gate selftests/bench/limits.json --output build/bench/gate.json

bench-gate-renew: build guest-overlay ## writes selftests/bench/limits.json as measured now, on a quiet machine
	@$(tree) $(ninja) -C $(programs) smartio-bench-compare
	@BENCH_S=$(or $(BENCH_S),30) scripts/bench-compare --rounds 3 --renew-gate selftests/bench/limits.json --output build/bench/gate.json

bench-failover: build guest-overlay ## what a pulled cable costs with two of them, beside NVMe-oF/TCP (BENCH_SAMPLES: cables of each kind, 200)
	@$(tree) $(ninja) -C $(programs) smartio-bench-failover
	@scripts/bench-failover

lint: ready ## clang-format, clang-tidy, shellcheck, checkpatch, sparse, manual pages, borders between folders, prose
	@status=0; $(tree) scripts/lint || status=1; $(tree) scripts/check-prose || status=1; exit $$status

clean: ## what was compiled, not what was set up
	rm -rf build/deb build/userspace build/check build/stage build/modules* build/guest-overlay*

distclean: clean ## everything in the build folder (a SMARTIO_CACHE elsewhere stays)
	rm -rf --one-file-system build
