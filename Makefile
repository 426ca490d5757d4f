# Careen's targets. `make help` lists them; each installs what it needs.
SHELL := /bin/bash
export CAREEN_CACHE ?= $(HOME)/.cache/careen
export CARGO_TARGET_DIR ?= $(CAREEN_CACHE)/target
RIG := cargo run --quiet -p vm-tests --
S ?=
# Nodes side by side: each has one processor and takes 3 GB.
J ?= 2
MINUTES ?= 10
# The stories of `make demo` (CONTRIBUTING.md).
WAY ?= annotate
WAYS := annotate daemonset cluster-api control-plane tutorial newcomer
# `make test` runs all Cluster API tests only if it can end within 45 minutes with a warm cache, and 80 with an empty one. These tests take a
# quarter of an hour, and ten minutes more if their managers must be built. On a slow machine `make test` runs a part of them (three minutes).
BEGUN := $(shell date +%s)
WARM := $(wildcard $(CARGO_TARGET_DIR)/debug/vm-tests)
WITHIN := $(if $(WARM),23,52)
WITHIN_FOR_A_PART := $(if $(WARM),41,65)
# The features of all programs together, so that cargo compiles no library twice.
BIG_TESTS := cargo test --workspace --exclude upgrade --exclude host
# The tests with Cluster API's managers mostly wait, so they run as two halves at the same time. All tests of the in-memory provider are in one
# half, because the ports of its API servers are fixed.
HALVES := .ci/halves
HALF := adversity control_plane in_memory
# The sizes of the soaks: power cuts and their seed; the Machines of a rollout, and how many seeds of faults.
CUTS ?= 100
DISK_CUTS ?= 2000
UPGRADES ?= 100
SEED ?= 1
MACHINES ?= 40
SEEDS ?= 10

.PHONY: attacker bench check cluster-api demo demo-capi docs docs-check \
  etcd-minor faults fuzz help integration manifests monitoring newest-cluster-api newest-rollout \
  newest-tests old-record packages packages-check part-of-cluster-api pictures \
  prose recording rig setup soak soak-disks soak-kills soak-long soak-model \
  soak-power soak-report soak-rollouts test tools vm vm-shell way

##@ Develop

help: ## print this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages for builds and the rig
	@.ci/progress "host packages" 180 vm-tests/setup.sh

tools: setup
	@.ci/tools

check: tools ## run the inner loop: format, clippy, audit, unit tests
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --test cluster_api --test cluster_api_v1_13 --test monitoring -- -D warnings
	@.ci/audit
	@.ci/docs if-there
	@.ci/prose/check
	cargo test --quiet -p upgrade -p host

integration: setup ## test the model, libostree, kube-apiserver; not the VM
	$(BIG_TESTS) --no-run
	@.ci/lanes $(BIG_TESTS)
	$(BIG_TESTS) --quiet --doc

# Uses the rig that the tests were built with: the target `rig` would build all its libraries again, with other features.
test: check docs-check integration ## run what CI runs: all layers, VM, Cluster API
	$(CARGO_TARGET_DIR)/debug/vm-tests run core --turn-from "$$(git rev-parse HEAD)" --minutes 13 --jobs $(J)
	@.ci/within $(BEGUN) $(WITHIN) newest-cluster-api $(WITHIN_FOR_A_PART) part-of-cluster-api

# The node in a VM runs beside these tests and uses the processor time that they leave.
newest-cluster-api: managers-v1.14
	$(BIG_TESTS) --quiet --no-run
	@$(MAKE) --no-print-directory --jobs=2 newest-tests newest-rollout

# The first steps of a user, and the wide rollouts.
part-of-cluster-api: managers-v1.14
	$(BIG_TESTS) --quiet --test cluster_api -- walk many

newest-tests:
	$(HALVES) cluster_api $(HALF) -- $(BIG_TESTS)

newest-rollout:
	$(CARGO_TARGET_DIR)/debug/vm-tests run cluster-api --turn-from "$$(git rev-parse HEAD)"

docs: ## build the site in target/site; check links and anchors
	@.ci/docs

docs-check: ## open each page of the site in a browser (30 s)
	@.ci/docs-check

prose: setup ## check the English of files and messages
	@.ci/prose/check

pictures: setup ## draw docs/pictures from their sources
	CAREEN_BLESS=1 cargo test --quiet -p upgrade --test docs
	@.ci/pictures

##@ Run it

rig: setup
	@.ci/progress "the rig" 300 cargo build -p vm-tests

# Before anything is built, which takes minutes.
way:
	@$(if $(filter $(WAYS),$(WAY)),:,echo 'WAY is "$(WAY)", which is no demo. Use $(WAYS).' >&2; exit 2)

demo: way $(if $(filter newcomer,$(WAY)),packages) rig ## upgrade a node in a VM, break one, watch it recover
	$(RIG) demo $(WAY)

demo-capi: WAY := cluster-api
demo-capi: demo ## run make demo WAY=cluster-api

recording: ## record the demo into docs/pictures/demo.cast and .svg
	@.ci/recording

vm: rig ## list the scenarios; S=NAME,... or S=all runs them
	@vm-tests/prerequisites.sh "$(S)"
	@if [ -n "$(S)" ]; then $(RIG) run $(S) --jobs $(J) $(if $(FRESH),--fresh); else $(RIG) list; fi

vm-shell: rig ## open a shell in a node that has joined a cluster
	$(RIG) shell

##@ Test more

fuzz: setup ## fuzz each parser for MINUTES=10; T=TARGET for one
	@tests/fuzz/run.sh $(MINUTES) $(T)

faults: setup ## test the table of fault classes, without the VM
	cargo test --quiet -p upgrade -p host -p systemd -p careen-stage -p careen-deploy -p careen-agent -p careen-installer -p careen-model -p careen-fuzz
	cargo test --quiet -p careen-tests --test agent

attacker: setup ## test attacks against each part
	cargo test --quiet -p careen-tests --test agent --test provider -- captured outsider rights garbage
	cargo test --quiet -p careen-deploy --bins --test sysroot -- refuse registry verif room fetch container clock
	cargo test --quiet -p careen-provider --lib --test engine --test hooks --test mortal --test release
	cargo test --quiet -p kubectl-careen --test view
	cargo test --quiet -p careen-control --test mirrors
	cargo test --quiet -p prepared --test leftovers --test settings
	cargo test --quiet -p host --test snapshot --test snapshot_traps --test critical --test record
	cargo test --quiet -p host --lib -- trust programs repository
	cargo test --quiet -p careen-stage --test boots --test units
	cargo test --quiet -p careen-agent --lib -- health::user hooks policy_file trusted_files step::deploy::unit
	cargo test --quiet -p upgrade --lib --test verdicts --test requests --test old --test older --test parse

cluster-api: managers-v1.13 managers-v1.14 ## test careen-provider with Cluster API (30 min)
	$(HALVES) cluster_api $(HALF) -- $(BIG_TESTS)
	$(HALVES) cluster_api_v1_13 $(HALF) -- $(BIG_TESTS)

# Builds the managers first. Otherwise both halves would build them.
managers-%: setup
	@for manager in core bootstrap control-plane in-memory; do vm-tests/cluster-api/build.sh $* $$manager >/dev/null || exit 1; done

etcd-minor: setup ## raise a control plane over a minor of etcd (30 min)
	$(BIG_TESTS) --quiet --test upgrade -- --ignored etcd_never --nocapture

monitoring: setup ## test alerts and dashboard with two Prometheuses
	$(BIG_TESTS) --quiet --test monitoring

old-record: setup ## test that the oldest agent can read the record
	@.ci/old-record $(OLD)

##@ Test for hours

soak: soak-model soak-disks soak-kills soak-long soak-power soak-rollouts ## run all soaks below, one by one (a night)

soak-model: setup ## explore the model with more faults (minutes)
	cargo run --quiet -p careen-model

soak-disks: setup ## cut the power DISK_CUTS=2000 times, no VM (15 min)
	CAREEN_POWER_CUTS=$(DISK_CUTS) CAREEN_POWER_SEED=$(SEED) cargo test -p careen-deploy --test power -- --nocapture

soak-kills: setup ## kill careen-deploy at each change on the disk
	CAREEN_KILLS=all cargo test -p careen-deploy --test sysroot killed:: -- --nocapture

soak-long: setup ## run UPGRADES=100 in a row on one disk
	CAREEN_UPGRADES=$(UPGRADES) cargo test -p careen-deploy --test sysroot long -- --nocapture

soak-power: rig ## cut the power of the VM CUTS=100 times, SEED=1 (hours)
	$(RIG) soak --cuts $(CUTS) --seed $(SEED) --jobs $(J) $(if $(ONLY),--only $(ONLY))

soak-report: rig ## add soak-power's runs to docs/reliability.md
	$(RIG) soak --cuts 0

soak-rollouts: setup ## test rollouts: MACHINES=40 SEEDS=10 (an hour)
	CAREEN_MACHINES=$(MACHINES) CAREEN_SEEDS=$(SEEDS) $(BIG_TESTS) --quiet --test cluster_api --test cluster_api_v1_13 -- misfortunes at_once

##@ Release

manifests: ## write careen-provider's manifests from the code
	CAREEN_BLESS=1 cargo test --quiet -p careen-provider --test release

packages: ## write .deb and .rpm into packaging/out
	@vm-tests/setup.sh rpm
	@.ci/tools packages
	packaging/build.sh packaging/out

packages-check: ## build, compare, install and remove packages (30 min)
	@vm-tests/setup.sh rpm lintian buildah dnf createrepo-c
	@.ci/tools packages
	cargo test --quiet -p vm-tests --test packages

# Builds the agent separately, with the features that images use, and careen-provider as in a release, where it catches its own panics.
bench: rig ## run all benchmarks (105 min); NODES=100,1000 sets sizes
	cargo build --quiet --profile image -p careen-agent -p careen-control -p careen-deploy
	CARGO_PROFILE_IMAGE_PANIC=unwind cargo build --quiet --profile image -p careen-provider -p careen-tests --bin careen-provider --bin agent-bench --bin provider-bench
	$(CARGO_TARGET_DIR)/image/agent-bench $(CARGO_TARGET_DIR)/image/careen-agent
	cargo bench --quiet --profile dev -p native --bench control-bench -- $(CARGO_TARGET_DIR)/image/careen-control
	CARGO_PROFILE_IMAGE_PANIC=unwind cargo bench --quiet --profile image -p careen-hosts-tests --bench host-bench
	$(CARGO_TARGET_DIR)/image/provider-bench $(if $(NODES),--nodes $(NODES))
	$(RIG) bench --jobs $(J)
