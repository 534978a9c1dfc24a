# The commands of this project. Each is safe to repeat; `make setup` says nothing when all is there.

BUILD ?= build/release
VENV ?= .venv
JOBS ?= $(shell nproc)
MODEL ?= resnet50
MODELS ?= build/models
SHAPES ?= input:1x3x224x224
RUNS ?= 10000
SEED ?= 1
PREFIX ?= /usr/local
PYTHONS ?=
BASE ?= HEAD~1
MINUTES ?= 15

.PHONY: help setup configure build program test demo install package bench gpu wheel fuzz sanitize sanitize-part style format tidy \
        lint docs docs-check site clean

help:  ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' Makefile

setup:  ## Install what is missing: Debian packages, and Python's into .venv
	@bash tools/setup.sh $(VENV)

configure: setup
	@cmake --preset release -DTENON_VENV=$(abspath $(VENV)) $(CMAKE_FLAGS) --log-level=WARNING > /dev/null

build: configure  ## Configure and compile everything into build/release
	@cmake --build $(BUILD) -j $(JOBS)

program: configure  ## Compile the program and what it loads on this machine, no tests
	@cmake --build $(BUILD) -j $(JOBS) --target tenon_runnable

test: build  ## Build and pass all tests
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

demo: program $(MODELS)/$(MODEL).onnx  ## Build a plan of ResNet-50, run and measure it
	@$(BUILD)/bin/trtexec --onnx=$(MODELS)/$(MODEL).onnx --shapes=$(SHAPES)

install: configure  ## Install programs, libraries and headers below PREFIX
	@cmake --build $(BUILD) -j $(JOBS) --target tenon_installable
	@cmake --install $(BUILD) --prefix $(PREFIX) > /dev/null

package: configure  ## Write a .deb and a .tar.gz to build/release/packages
	@cmake --build $(BUILD) -j $(JOBS) --target tenon_installable
	@cd $(BUILD) && cpack > /dev/null && ls packages/*.deb packages/*.tar.gz

bench: build  ## Compare with ONNX Runtime and OpenVINO in one run
	@$(VENV)/bin/python bench/compare_cpu.py --build $(BUILD) --models $(MODELS)

gpu: build  ## Measure everything that docs/performance.md says about a GPU (needs one, and PyTorch)
	@python3 bench/gpu_report.py --json $(BUILD)/gpu.json --tenon $(BUILD)/bin/tenon --weights $(MODELS) --outputs

wheel: build  ## Wheels of the Python packages in build/wheels, repaired and tried in an empty environment
	@bash tools/wheel.sh $(abspath $(VENV)) $(abspath $(BUILD)) $(abspath build/wheels) $(PYTHONS)

fuzz: build  ## Fuzz the parser and the plan loader with RUNS inputs, the same everywhere, or for SECONDS_EACH
	@bash tools/setup.sh $(VENV) clang libclang-rt-dev
	@bash tools/fuzz.sh $(abspath $(VENV)) $(BUILD)/bin/fuzz_plans $(if $(SECONDS_EACH),$(SECONDS_EACH)s,$(RUNS)) $(SEED)

sanitize:  ## Build and pass the tests with address and undefined-behaviour sanitizers, and threads with theirs
	@bash tools/setup.sh $(VENV)
	@python3 tools/sanitize.py $(abspath $(VENV)) $(JOBS)

$(MODELS)/%.onnx: models/%.onnx models/%.weights.json models/materialize.py | setup
	@$(VENV)/bin/python models/materialize.py $(MODELS) $*

sanitize-part: setup  ## The same for a few tests, other ones at each commit, for MINUTES at most
	@python3 tools/sanitize.py $(abspath $(VENV)) $(JOBS) part $(shell git rev-list --count HEAD) $(MINUTES)

style:  ## Print the measured style beside the figures aimed at, old words, and lines that are not formatted
	@python3 tools/check_style.py
	@python3 tools/check_words.py
	@python3 tools/check_format.py $(VENV)

format: setup  ## Format all sources and headers that git knows
	@python3 tools/check_format.py $(VENV) --write

tidy: build  ## Run clang-tidy on the sources that changed since BASE, for MINUTES at most
	@bash tools/setup.sh $(VENV) clang-tidy
	@python3 tools/tidy.py $(BUILD) --base $(BASE) --minutes $(MINUTES) --jobs $(JOBS)

lint: build  ## Run clang-tidy on every source, the layer check and the style figures
	@bash tools/setup.sh $(VENV) clang-tidy
	@python3 tools/check_layers.py
	@python3 tools/check_style.py
	@python3 tools/tidy.py $(BUILD) --minutes 600 --jobs $(JOBS) $$(git ls-files 'src/*.cpp')

docs: build  ## Regenerate the generated pages of docs/
	@ctest --test-dir $(BUILD) -R 'onnx_suite_(data|engine)' --quiet
	@python3 tools/pages.py --write $(BUILD)

site: build  ## Write docs/ as a site to build/site, and run its notebooks
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet
	@ctest --test-dir $(BUILD) --output-on-failure -R '^site$$'

docs-check: build  ## Fail where a generated page of docs/ is out of date
	@python3 tools/pages.py --check $(BUILD)

clean:  ## Remove everything that was built
	@rm -rf build
