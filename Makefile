# The commands people type. Everything else is CMake (CMakePresets.json) and the scripts under tools/ and tests/.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD := build
GANGWAY := $(CURDIR)/$(BUILD)/bin/gangway
export GANGWAY_BIN ?= $(GANGWAY)

.PHONY: help deps build demo test unit e2e test-kube soak bench lint format clean

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

deps: ## install what is missing on Debian 12
	@tools/setup/deps.sh all

deps-build:
	@tools/setup/deps.sh build
deps-demo:
	@tools/setup/deps.sh demo
deps-test:
	@tools/setup/deps.sh test

build: deps-build ## build/bin/gangway and its link arena, optimised
	@cmake --preset release -DGANGWAY_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target gangway

demo: build deps-demo ## see the product at work
	@tests/demo/demo.sh

unit: deps-test
	@cmake --preset release -DGANGWAY_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@tests/skipped.sh $(BUILD)
	@cd python && PYTHONPATH=. /usr/bin/python3 -B -m pytest -q -p no:cacheprovider tests

e2e: unit
	@tests/e2e/run.sh

test: unit e2e ## unit, contract and property tests, and kubectl against the real binary

test-kube: unit ## the same requests and pods to the real kube-apiserver and kube-scheduler, and to ours
	@tests/kube/run.sh

soak: ## large counts, sanitizers, fuzzing
	@tools/setup/deps.sh all
	@tests/soak/run.sh $(SLICE)

bench: deps-test ## our server against kube-apiserver, in one run
	@cmake --preset bench >/dev/null && cmake --build $(BUILD) -j $(JOBS)
	@tests/bench/run.sh

lint: ## format, clang-tidy, layers, shellcheck
	@tools/lint.sh

format: ## clang-format all sources
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

clean:
	rm -rf $(BUILD)
