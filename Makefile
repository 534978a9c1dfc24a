# The commands of this project. Each is safe to repeat; `make setup` says nothing when all is there.

BUILD ?= build/release
VENV ?= .venv
JOBS ?= $(shell nproc)
MODEL ?= resnet50
MODELS ?= build/models
SHAPES ?= input:1x3x224x224
SECONDS_EACH ?= 60
SEED ?= 1

.PHONY: help setup configure build program test demo bench gpu fuzz sanitize style format lint docs clean

help:  ## Print this list
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

setup:  ## Install what is missing: Debian packages, and Python's into .venv
	@bash tools/setup.sh $(VENV)

configure: setup
	@cmake --preset release -DTENON_VENV=$(abspath $(VENV)) $(CMAKE_FLAGS) --log-level=WARNING > /dev/null

build: configure  ## Configure and compile everything into build/release
	@cmake --build $(BUILD) -j $(JOBS)

program: configure  ## Compile the program and what it loads on this machine, no tests
	@cmake --build $(BUILD) -j $(JOBS) --target tenon_runnable

test: build  ## Build and pass all tests
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

demo: program $(MODELS)/$(MODEL).onnx  ## Build a plan of ResNet-50, run and measure it
	@$(BUILD)/bin/trtexec --onnx=$(MODELS)/$(MODEL).onnx --shapes=$(SHAPES)

bench: build  ## Compare with ONNX Runtime and OpenVINO in one run
	@$(VENV)/bin/python bench/compare_cpu.py --build $(BUILD) --models $(MODELS)

gpu: build  ## Measure everything that docs/performance.md says about a GPU (needs one, and PyTorch)
	@python3 bench/gpu_report.py --json $(BUILD)/gpu.json --tenon $(BUILD)/bin/tenon --weights $(MODELS) --outputs

wheel: build  ## Wheels of the Python packages in build/wheels, repaired and tried in an empty environment
	@bash tools/wheel.sh $(abspath $(VENV)) $(abspath $(BUILD)) $(abspath build/wheels)

fuzz: build  ## Fuzz the parser and the plan loader for a minute each
	@bash tools/setup.sh $(VENV) clang libclang-rt-dev
	@bash tools/fuzz.sh $(abspath $(VENV)) $(SECONDS_EACH) $(BUILD)/bin/trtexec $(SEED)

sanitize:  ## Build and pass the tests with address and undefined-behaviour sanitizers, and threads with theirs
	@bash tools/setup.sh $(VENV)
	@python3 tools/sanitize.py $(abspath $(VENV)) $(JOBS)

$(MODELS)/%.onnx: models/%.onnx models/%.weights.json models/materialize.py | setup
	@$(VENV)/bin/python models/materialize.py $(MODELS) $*

style:  ## Print the measured style beside the figures aimed at
	@python3 tools/check_style.py

format:  ## Format every C++ file
	@git ls-files -co --exclude-standard '*.h' '*.cpp' '*.cu' | xargs clang-format -i

lint: build  ## Run clang-tidy, the layer check and the style figures
	@python3 tools/check_layers.py
	@python3 tools/check_style.py
	@git ls-files 'src/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy -p $(BUILD) --quiet

docs: build  ## Regenerate the generated parts of docs/
	@python3 tools/folder_map.py --write docs/architecture.md
	@python3 tools/fusion_table.py --write docs/passes.md
	@$(BUILD)/bin/tenon exec --helpMarkdown > docs/trtexec.md
	@python3 tools/api_surface.py --page docs/api.md
	@ctest --test-dir $(BUILD) -R 'onnx_suite_(data|engine)' --quiet
	@python3 tests/onnx/support_page.py $(BUILD)/onnx_suite_engine.tsv src/onnx/onnx.def docs/onnx_support.md

clean:  ## Remove everything that was built
	@rm -rf build
