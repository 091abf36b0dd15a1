# The front door: `make help` lists what there is.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
HARNESS = target/debug/reeve-harness
VERBS = test bench soak e2e fuzz
PARTS = tests/parts.toml
export CARGO CACHED

# The parts of a verb: one line each in its section of the table.
parts = $(shell awk -v verb='[$(1)]' '/^\[/ { inside = $$1 == verb } inside && /^[a-z0-9-]+ = / { print $$1 }' $(PARTS))

# Refuses an unknown part before anything is built.
unknown = $(filter-out $(call parts,$(1)),$(ONLY))
refuse = $(error `make $(1)` has no part `$(firstword $(unknown))`: ONLY may be $(call parts,$(1)); $(PARTS) lists them)
$(foreach verb,$(filter $(VERBS),$(MAKECMDGOALS)),$(if $(call unknown,$(verb)),$(call refuse,$(verb))))

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'ONLY=<part> runs one part, ONLY="a b" two; the parts are lines of $(PARTS):'
	@$(foreach verb,$(VERBS),printf '  %-11s %s\n' $(verb) '$(call parts,$(verb))';)

.PHONY: setup
setup: build ## Find, build or install every server and tool that the tests need
	$(HARNESS) setup

.PHONY: test
test: build ## Run all tests against real servers; sets the machine up by itself
	$(HARNESS) setup
	$(HARNESS) parts test $(ONLY)

.PHONY: e2e
e2e: build ## Run tests that need servers which take long to build; CACHED=1 skips what is not built
	$(HARNESS) setup
	$(HARNESS) parts e2e $(ONLY)

.PHONY: soak
soak: build ## Run tests that take long, such as a kill at every write of an install, an upgrade and a prune
	$(HARNESS) setup
	$(HARNESS) parts soak $(ONLY)

.PHONY: bench
bench: setup ## Measure, and print ratios against what is promised, a floor or a peer
	$(HARNESS) parts bench $(ONLY)

SECONDS ?= 60
.PHONY: fuzz
fuzz: build ## Feed what reads untrusted input any bytes, guided by coverage, for SECONDS=60 per part
	FUZZ_SECONDS=$(SECONDS) $(HARNESS) parts fuzz $(ONLY)

.PHONY: shell
shell: setup ## Open a shell with a fresh cluster, Reeve's kinds installed and kubectl at hand
	$(HARNESS) run -- sh -c 'kubectl apply --server-side -f crds/yaml && exec "$${SHELL:-bash}"'

# KUBECONFIG names a cluster to use instead of one of its own.
.PHONY: demo
demo: ## Show Reeve at work: push, drift, a bad commit; goes on until Ctrl-C, or ends with CI=1
	$(CARGO) build --workspace --bins --quiet
	@export CI=$(CI); if [ -n "$${KUBECONFIG:-}" ]; then exec demo/run given; else exec $(HARNESS) run -- demo/run own; fi

.PHONY: lint
lint: ## Check format, lints and docs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

.PHONY: crds
crds: build ## Regenerate crds/yaml and docs/crds.md from the Rust types
	target/debug/crdgen crds/yaml docs/crds.md

.PHONY: charts
charts: build ## Write charts/reeve.yaml: what `reeve install` makes of the charts by default
	target/debug/reeve install --skip-crds > charts/reeve.yaml

# The builder is compiled in release too: what it compresses is large.
.PHONY: images
images: ## Build the container images into target/images, ONLY="a b" some of them; PUSH=registry publishes them
	$(CARGO) run --release --quiet --locked --package reeve-images -- build \
	  $(addprefix --only ,$(ONLY)) $(if $(PUSH),--push $(PUSH)) $(if $(SCRATCH),--from-scratch)

# The tools come from the harness, as they do in tests.
.PHONY: packages
packages: build ## Build target/debian/*.deb and target/generate-rpm/*.rpm of reeve-cri, the proxy on nodes
	$(CARGO) build --release --locked --package reeve-proxy-cri --bin reeve-cri
	$$($(HARNESS) find cargo-deb) --package reeve-proxy-cri --no-build
	$$($(HARNESS) find cargo-generate-rpm) --package proxy/cri

.PHONY: image-pins
image-pins: ## Pin the Debian packages of the images to what the archive has today, in images/debian.toml
	$(CARGO) run --quiet --package reeve-images -- pin

.PHONY: conformance
conformance: ## Ask Helm again what it makes of the renderer's cases, and write docs/functions.md
	cd tests/assets/helm && go run . ../../../renderer/tests/conformance > ../../../renderer/tests/conformance/truth.new
	mv renderer/tests/conformance/truth.new renderer/tests/conformance/truth.json
	$(CARGO) test --package reeve-renderer --test conformance -- --ignored write_the_reference
	$(CARGO) test --package reeve-renderer --test helm -- --ignored write_the_truth

.PHONY: clean
clean: ## Remove what was built here (built servers stay in the cache)
	$(CARGO) clean

# One build for all targets: a package built alone has other features, and so its dependencies would be built twice.
.PHONY: build
build:
	$(CARGO) test --workspace --no-run --quiet
