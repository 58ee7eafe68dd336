# Two commands do everything: `make lab` and `make test`. `make` alone lists the others.
# Names to change on the command line:
#   PYTHON=python3.12            the Python that makes .venv (default: the first found that is 3.11 or newer)
#   CONSTRAINTS=/dev/null        newer versions than the tested ones
#   TORCH_INDEX=                 leave torch to the default index (CUDA on Linux)
#   ARGS="--no-browser"          passed on to the command at the end

VENV        := .venv
OLDEST      := .venv-oldest
PY          := $(VENV)/bin/python
PIP         := $(PY) -m pip --disable-pip-version-check --no-input
CONSTRAINTS := constraints.txt
TORCH_INDEX := https://download.pytorch.org/whl/cpu
WORKERS     := 2
PYTEST      := PYTHONWARNDEFAULTENCODING=1 $(PY) -m pytest -n $(WORKERS)

# The first Python of a list that is 3.11 or newer.
new_enough = $(shell for python in $(1); do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PYTHON        = $(call new_enough,python3 python3.13 python3.12 python3.11 python)
# torch's lowest release has wheels up to Python 3.12.
OLDEST_PYTHON = $(call new_enough,python3.11 python3.12 python3)

.PHONY: help lab test suite lint types book sweep oldest verify thorough bench release clean
.DEFAULT_GOAL := help

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '  %-15s %s\n' "$$name" "$$what"; done

lab: $(VENV)/.lab ## install into .venv, register the kernel, open JupyterLab (ARGS="--no-browser --port 8899")
	@$(PY) -m lmexplain lab $(ARGS)

test: lint types suite ## lint, types and the suite, browser tests included where a Chromium is found

suite: $(VENV)/.test ## the suite alone (ARGS="tests/patterns -x": a part of it)
	$(PYTEST) $(ARGS)

lint: $(VENV)/.test ## ruff, and the floors of the house
	$(PY) -m ruff check
	$(VENV)/bin/lint-imports --no-cache

types: $(VENV)/.test ## pyright, standard mode (its first run fetches pyright itself from the npm registry)
	$(VENV)/bin/pyright --pythonpath $(PY)

book: $(VENV)/.test ## run every chapter from a clean kernel, without a network
	$(PYTEST) -m book $(ARGS)

sweep: $(VENV)/.test ## run every experiment, reduced
	$(PYTEST) -m sweep $(ARGS)

oldest: $(OLDEST)/.made ## imports and patterns on the lowest versions declared
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) -m "not browser and not thorough" tests/house/test_package.py tests/house/test_lab.py tests/patterns $(ARGS)

verify: $(VENV)/.test ## the models against their references; write what was found, and the table of the README
	$(PYTEST) tests/reference --record-verification
	$(PY) -m tests.house.readme

thorough: $(VENV)/.test ## full sweeps, 2,000 examples for each property (before a release)
	$(PYTEST) -m "not book" --hypothesis-profile=thorough $(ARGS)

bench: $(VENV)/.test ## measure, and write the tables of the README (ARGS=attention: that one)
	$(PY) benchmarks $(ARGS)

release: thorough book ## everything above, then wheel and sdist into dist/, looked through
	$(PY) -m build --no-isolation --outdir dist
	$(PY) tests/house/release.py dist

clean: ## remove .venv, .venv-oldest and what was built
	rm -rf $(VENV) $(OLDEST) dist

# ---------------------------------------------------------------------------------------------------- environments
# A stamp file stands for a finished step, so nothing is done twice and an interrupted step is done again.

$(VENV)/.python:
	$(call make_venv,$(PYTHON),$(VENV))
	@touch $@

$(VENV)/.torch: $(VENV)/.python constraints.txt
	$(call cpu_torch,$(PIP),--constraint "$(CONSTRAINTS)" torch)
	@touch $@

$(VENV)/.lab: $(VENV)/.torch pyproject.toml
	$(call say,Installing lmexplain and what it needs …)
	@$(PIP) install --constraint "$(CONSTRAINTS)" --editable . || { $(install_help); }
	@touch $@

$(VENV)/.test: $(VENV)/.lab
	$(call say,Installing the test tools …)
	@$(PIP) install --constraint "$(CONSTRAINTS)" --editable ".[test]" || { $(install_help); }
	@touch $@

$(OLDEST)/.made: pyproject.toml tests/house/lowest.py
	$(call make_venv,$(OLDEST_PYTHON),$(OLDEST))
	@$(OLDEST)/bin/python tests/house/lowest.py > $(OLDEST)/lowest.txt
	$(call say,Installing the lowest versions declared …)
	$(call cpu_torch,$(OLDEST)/bin/python -m pip --disable-pip-version-check --no-input,--constraint $(OLDEST)/lowest.txt torch)
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check --no-input install --no-compile \
		--requirement $(OLDEST)/lowest.txt || { $(install_help); }
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check --no-input install --constraint $(OLDEST)/lowest.txt \
		--editable .
	@touch $@

say = @printf '\n== %s\n' '$(1)'
install_help = echo; echo 'The installation stopped (the reason is above). Things to try: run the same command again;'; \
	echo '`make CONSTRAINTS=/dev/null …` where a pinned version is not to be had; `make clean` to begin anew.'; exit 1

# $(call make_venv,PYTHON,FOLDER)
define make_venv
@if ! "$(1)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	echo 'lmexplain needs Python 3.11 or newer; $(if $(1),$(1) is not,none was found on the PATH).'; \
	echo 'Install it (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python;'; \
	echo 'conda: see environment.yml), or name it: make lab PYTHON=/path/to/python3.12'; exit 1; fi
$(call say,Making $(2) with $(1) …)
@"$(1)" -m venv "$(2)" || { rm -rf "$(2)"; echo; \
	echo 'Python could not make a virtual environment. On Debian and Ubuntu: sudo apt install python3-venv'; exit 1; }
endef

# $(call cpu_torch,PIP,REQUIREMENT): on Linux, torch's build without CUDA where its index answers.
define cpu_torch
@if [ "$$(uname -s)" = Linux ] && [ -n "$(TORCH_INDEX)" ]; then \
	printf '\n== %s\n' 'Installing the CPU build of torch …'; \
	$(1) install --no-deps --index-url "$(TORCH_INDEX)" --timeout 10 --retries 1 $(2) || \
	echo 'The index of CPU builds gave none; torch comes from the default index (on Linux perhaps with CUDA: several GB).'; \
fi
endef
