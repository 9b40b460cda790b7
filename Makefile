# The way in: `make` lists what there is. The build itself is CMake's (CMakeLists.txt, CMakePresets.json).

BUILD  := build/release
PREFIX ?= /usr/local
# PRESET=dev and others of CMakePresets.json; without it a folder that is configured stays as it is.
ifdef PRESET
CMAKE = cmake --preset $(PRESET)
else ifneq ($(wildcard $(BUILD)/build.ninja),)
CMAKE = cmake $(BUILD)
else
CMAKE = cmake --preset release
endif
# CUDA=all compiles kernels for every kind of GPU, CUDA=90 for one compute capability, CUDA=off for none, CUDA=auto for the
# GPUs of this machine. Without it a new build folder takes auto, and one that is configured stays as it is.
ifdef CUDA
ifeq ($(filter-out auto on all off,$(CUDA)),)
CMAKE += -DNADI_CUDA=$(CUDA) -DNADI_CUDA_ARCHITECTURES=
else
CMAKE += -DNADI_CUDA=on -DNADI_CUDA_ARCHITECTURES=$(CUDA)-real
endif
endif

# One job per core, but no more than the memory allows: the larger objects take up to 1.3 GiB each.
JOBS ?= $(shell awk -v cores="$$(nproc)" '/^MemAvailable:/ { jobs = int($$2 / 1468006) } \
	END { if (jobs == 0 || jobs > cores) jobs = jobs == 0 ? 1 : cores; print jobs }' /proc/meminfo)

SOURCES = $(shell git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')

# What `make tidy` compares with.
SINCE ?= main

.DEFAULT_GOAL := help
.PHONY: help dependencies test-dependencies runtime-dependencies vocab build deb demo build-tests test test-fast \
	soak check tidy golden install bench bench-train validate format clean

# Another program to measure training against: see bench/train.sh.
PEER ?= ../shared/peers/libtorch/run

# Published measurements to validate against; --leave-out fits without each source and prints its error.
PUBLISHED ?= ../shared/data/published
FIT       ?= --leave-out

help: ## list these commands
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

dependencies: ## install the libraries and tools that the program is built with (Debian, Ubuntu)
	@scripts/install_dependencies.sh

test-dependencies: ## install what tests and benchmarks need besides
	@scripts/install_dependencies.sh --tests

runtime-dependencies: ## install only what the finished program needs
	@scripts/install_dependencies.sh --runtime

vocab: ## get the vocabularies of GPT-2 and BERT into cache/ (npm packages); needs the built program
	@scripts/install_dependencies.sh --vocab
	scripts/get_vocab.sh cache

build: $(BUILD)/build.ninja ## compile the program into build/release (CUDA=all, off or 90: kernels for other GPUs than this machine's)
	$(if $(CUDA),$(CMAKE))
	cmake --build $(BUILD) --parallel $(JOBS) --target nadi nadi_share

demo: dependencies ## install what is missing, build the program, and run a short tour
	$(MAKE) build
	scripts/demo.sh

build-tests: test-dependencies ## compile program, tests and tools
	$(CMAKE) -DNADI_BUILD_TESTS=ON
	cmake --build $(BUILD) --parallel $(JOBS)

test: dependencies ## set-up, then every test
	$(MAKE) build-tests
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

test-fast: dependencies ## the tests that take seconds
	$(MAKE) build-tests
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS) --label-regex fast

soak: dependencies ## the long forms of the tests of faults, about an hour (LONG=yes: all of each, three hours; ONLY="kills hangs": some)
	$(MAKE) build-tests
	tests/soak.sh $(if $(LONG),--long) $(BUILD) $(ONLY)

check: dependencies ## other builds and their tests, one after the other, about two hours (ONLY=asan: one; tests/other_builds.sh)
	$(MAKE) test-dependencies
	tests/other_builds.sh $(ONLY)

golden: ## write the outputs that tests compare anew from what this build prints
	cmake --build $(BUILD) --parallel $(JOBS) --target cli_test
	NADI_UPDATE_GOLDEN=1 $(BUILD)/src/cli/cli_test --gtest_filter='StableOutput.*'
	git status --short -- src/show/cli/testdata

tidy: ## clang-tidy on the sources that differ from main (SINCE=commit)
	scripts/tidy.sh $(BUILD) $(SINCE)

deb: dependencies ## Debian packages of program and library, in build/packages
	$(MAKE) build
	cd $(BUILD) && cpack -G DEB -B $(CURDIR)/build/packages

install: build ## install program, libraries and headers (PREFIX=/usr/local, DESTDIR)
	DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

bench: test-dependencies ## build and run the benchmarks
	$(CMAKE) -DNADI_BUILD_BENCHMARKS=ON
	cmake --build $(BUILD) --parallel $(JOBS)
	set -e; for program in $(BUILD)/bench/*_bench; do "$$program"; done

validate: ## predict published steps, print errors and constants (PUBLISHED=folder, FIT=--fit, --rows)
	$(CMAKE) > /dev/null
	cmake --build $(BUILD) --target nadi_validate --parallel $(JOBS)
	$(BUILD)/bench/nadi_validate $(PUBLISHED) $(FIT)

bench-train: test-dependencies ## training of GPT-2 and BERT beside another program, in turns (PEER=program)
	$(CMAKE) -DNADI_BUILD_BENCHMARKS=ON
	cmake --build $(BUILD) --parallel $(JOBS) --target train_step
	bench/train.sh $(BUILD) $(PEER)

format: ## format the sources in C++ and CUDA in place (clang-format 14)
	clang-format -i $(SOURCES)

clean: ## remove build/, out/ and outputs/
	rm -rf build out outputs

# Tests are added by build-tests, and stay then.
$(BUILD)/build.ninja:
	$(CMAKE) -DNADI_BUILD_TESTS=OFF -DNADI_BUILD_BENCHMARKS=OFF
