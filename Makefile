# Careen's verbs. `make help` lists them; each does its own set-up.
SHELL := /bin/bash
export CAREEN_CACHE ?= $(HOME)/.cache/careen
export CARGO_TARGET_DIR ?= $(CAREEN_CACHE)/target
RIG := cargo run --quiet -p vm-tests --
S ?=
# Nodes side by side: each has one processor and takes 3 GB.
J ?= 2
MINUTES ?= 10
# `make demo`: annotate, daemonset, cluster-api, tutorial or newcomer, who begins with the packages.
WAY ?= annotate
# `make test` looks at the clock: when it began, and within how many minutes it begins with Cluster API (a quarter of an hour; another ten minutes to
# build its managers with an empty cache), so that all of it should end within 45 minutes with a warm cache and 80 with an empty one. On a slow
# machine it is late for that, and runs a part (three minutes).
BEGUN := $(shell date +%s)
WARM := $(wildcard $(CARGO_TARGET_DIR)/debug/vm-tests)
WITHIN := $(if $(WARM),27,52)
WITHIN_FOR_A_PART := $(if $(WARM),41,65)
# The features of all programs together, so that nothing is compiled a second time for one of them.
BIG_TESTS := cargo test --workspace --exclude upgrade --exclude host
# Of the tests beside Cluster API's managers, which mostly wait for them, these run beside all others. The in-memory provider's are of one half: the
# ports of its API servers are always the same.
HALVES := .ci/halves
HALF := adversity control_plane in_memory
# `make soak`: so many power cuts of this seed; a rollout over so many Machines, so often with other misfortunes.
CUTS ?= 100
DISK_CUTS ?= 2000
UPGRADES ?= 100
SEED ?= 1
MACHINES ?= 40
SEEDS ?= 10

.PHONY: manifests help setup tools check docs test fuzz integration monitoring soak soak-model soak-disks soak-long soak-kills soak-power soak-report soak-rollouts old-record faults attacker cluster-api newest-cluster-api part-of-cluster-api newest-tests newest-rollout rig demo demo-capi vm vm-shell bench packages packages-check

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

setup: ## install what the host needs (Debian packages); quick when it is there
	@vm-tests/setup.sh

tools: setup
	@.ci/tools

check: tools ## the inner loop: format, clippy, dependency audit, unit and brain tests, which look at the links in the docs; their site, once `make docs` was run
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --test cluster_api --test cluster_api_v1_13 --test monitoring -- -D warnings
	@.ci/audit
	@.ci/docs if-there
	cargo test --quiet -p upgrade -p host

docs: ## docs/ as a site in target/site, links and anchors checked
	@.ci/docs

integration: setup ## the model of the chain, careen-deploy on a real libostree, the agent and careen-provider against a real kube-apiserver
	$(BIG_TESTS) --no-run
	$(BIG_TESTS) --quiet

fuzz: setup ## every parser at the edge under libFuzzer, MINUTES=10 each; T=<target> one of them (a short smoke of each is in `make test`)
	@tests/fuzz/run.sh $(MINUTES) $(T)

faults: setup ## every layer that the table of fault classes names (docs/reliability.md), but for the scenarios on the VM (`make vm S=all`)
	cargo test --quiet -p upgrade -p host -p careen-stage -p careen-deploy -p careen-agent -p careen-installer -p careen-model -p careen-fuzz
	cargo test --quiet -p careen-tests --test agent

attacker: setup ## what an attacker tries (docs/reliability.md): a captured node, a pod, the image, the remote, the registry, names on the node
	cargo test --quiet -p careen-tests --test agent --test provider -- captured outsider rights garbage
	cargo test --quiet -p careen-deploy --bins --test sysroot -- refuse registry verif room fetch container clock
	cargo test --quiet -p careen-provider --test engine --test hooks --test mortal --test release
	cargo test --quiet -p kubectl-careen --test view
	cargo test --quiet -p host --test snapshot --test snapshot_traps --test manifest --test journal
	cargo test --quiet -p host --lib -- trust programs repository
	cargo test --quiet -p careen-stage --test boots --test units
	cargo test --quiet -p careen-agent --lib -- health::user hooks in_force guarded node::unit
	cargo test --quiet -p upgrade --lib --test verdicts --test old --test older --test parse

rig: setup
	cargo build -p vm-tests

cluster-api: managers-v1.13 managers-v1.14 ## careen-provider beside the real managers of Cluster API, both minors, built first (half an hour; wants a quiet machine)
	$(HALVES) cluster_api $(HALF) -- $(BIG_TESTS)
	$(HALVES) cluster_api_v1_13 $(HALF) -- $(BIG_TESTS)

# Beforehand, or both halves would build them.
managers-%: setup
	@for manager in core bootstrap control-plane in-memory; do vm-tests/cluster-api/build.sh $* $$manager >/dev/null || exit 1; done

monitoring: setup ## alerts, dashboard and scrape configuration against two real Prometheuses that see nodes upgraded (Debian's, fetched into the cache, and upstream's, built there: some minutes)
	$(BIG_TESTS) --quiet --test monitoring

soak: soak-model soak-disks soak-kills soak-long soak-power soak-rollouts ## all six below, one after the other (a night; wants a quiet machine)

soak-model: setup ## the model of the chain at large (some minutes)
	cargo run --quiet -p careen-model

soak-disks: setup ## DISK_CUTS=2000 power cuts on libostree, careen-deploy and the record without a machine (a quarter of an hour)
	CAREEN_POWER_CUTS=$(DISK_CUTS) CAREEN_POWER_SEED=$(SEED) cargo test -p careen-deploy --test power -- --nocapture

soak-kills: setup ## careen-deploy killed, and asked to end, at each change that it makes on the disk (`make test` takes six of each verb)
	CAREEN_KILLS=all cargo test -p careen-deploy --test sysroot killed:: -- --nocapture

soak-long: setup ## UPGRADES=100 in a row on one disk, which stays as full as it was
	CAREEN_UPGRADES=$(UPGRADES) cargo test -p careen-deploy --test sysroot long -- --nocapture

soak-power: rig ## CUTS=100 power cuts on the VM, those of SEED=1 (hours; tells how far it is; cut short, it goes on)
	$(RIG) soak --cuts $(CUTS) --seed $(SEED) --jobs $(J) $(if $(ONLY),--only $(ONLY))

soak-report: rig ## add up what all runs of soak-power came to, into docs/reliability.md
	$(RIG) soak --cuts 0

soak-rollouts: setup ## the wide rollouts of `make cluster-api`, with MACHINES=40 and SEEDS=10, of both minors (an hour)
	CAREEN_MACHINES=$(MACHINES) CAREEN_SEEDS=$(SEEDS) $(BIG_TESTS) --quiet --test cluster_api --test cluster_api_v1_13 -- misfortunes at_once

old-record: setup ## the oldest agent whose record has a frozen sample, built anew (OLD=<commit> another), and today's read and write each other's records
	@.ci/old-record $(OLD)

# The rig that the tests were built with: `rig` would build all its libraries once more, with other features.
test: check integration ## what CI runs: every layer, the VM's five core scenarios (one of them power cuts at four markers, by turns) and another by turns, then Cluster API's newest version and one of its two scenarios by turns, or late a part of that (not vm S=all, bench)
	$(CARGO_TARGET_DIR)/debug/vm-tests run core --turn-from "$$(git rev-parse HEAD)" --minutes 13 --jobs $(J)
	@.ci/within $(BEGUN) $(WITHIN) newest-cluster-api $(WITHIN_FOR_A_PART) part-of-cluster-api

# One node beside them takes what they leave of the processors.
newest-cluster-api: managers-v1.14
	$(BIG_TESTS) --quiet --no-run
	@$(MAKE) --no-print-directory --jobs=2 newest-tests newest-rollout

# What a user does first, and the wide rollouts.
part-of-cluster-api: managers-v1.14
	$(BIG_TESTS) --quiet --test cluster_api -- walk many

newest-tests:
	$(HALVES) cluster_api $(HALF) -- $(BIG_TESTS)

newest-rollout:
	$(CARGO_TARGET_DIR)/debug/vm-tests run cluster-api --turn-from "$$(git rev-parse HEAD)"

demo: $(if $(filter newcomer,$(WAY)),packages) rig ## upgrade a node on the VM: WAY=annotate (the default) a Node, then a bad image falls back; WAY=daemonset brings the agent first; WAY=cluster-api, a rollout that holds at a bad image until another heals it; WAY=tutorial types docs/tutorial.md line by line; WAY=newcomer docs/images.md and docs/install.md, from the packages to a node of its own (more than an hour)
	$(RIG) demo $(WAY)

demo-capi: WAY := cluster-api
demo-capi: demo ## another name of `make demo WAY=cluster-api`

vm: rig ## list the scenarios on the VM; S=<name>,... runs these, S=core the five, S=all every one (cut short, it goes on; FRESH=1 from the start); J=1 one at a time; serial log, journal and record are left where the output says
	@vm-tests/beforehand.sh "$(S)"
	@if [ -n "$(S)" ]; then $(RIG) run $(S) --jobs $(J) $(if $(FRESH),--fresh); else $(RIG) list; fi

vm-shell: rig ## a shell in a joined node
	$(RIG) shell

manifests: ## write the release of careen-provider (packaging/provider) and its part of the docs anew from the code
	CAREEN_BLESS=1 cargo test --quiet -p careen-provider --test release

packages: ## write .deb and .rpm of what a node needs into packaging/out (docs/packaging.md)
	@vm-tests/setup.sh rpm
	@.ci/tools packages
	packaging/build.sh packaging/out

packages-check: ## build the packages twice, compare them, see lintian, install and remove them in a Debian root; and the container images, from their recipes (root; half an hour)
	@vm-tests/setup.sh rpm lintian buildah dnf createrepo-c
	@.ci/tools packages
	cargo test --quiet -p vm-tests --test packages

# The agent is built apart, with the features that images have it with; careen-provider as a release has it, which catches its own faults.
bench: rig ## the benchmarks: the agent's (P5 to P7), careen-provider with 100 to 10,000 nodes (half an hour; NODES=100,1000 these sizes alone) and with 200 Machines under Cluster API's own managers (ten minutes), then upgrades beside the same by hand (P1, P3, P4, P9; about three quarters of an hour)
	cargo build --quiet --profile image -p careen-agent -p careen-deploy
	CARGO_PROFILE_IMAGE_PANIC=unwind cargo build --quiet --profile image -p careen-provider -p careen-tests --bin careen-provider --bin agent-bench --bin provider-bench
	$(CARGO_TARGET_DIR)/image/agent-bench $(CARGO_TARGET_DIR)/image/careen-agent
	$(CARGO_TARGET_DIR)/image/provider-bench $(if $(NODES),--nodes $(NODES))
	$(RIG) bench --jobs $(J)
