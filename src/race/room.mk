# captrain race: trainings, and other programs, timed up to the same target, seed by seed.
libcaptrain_la_SOURCES += \
	src/race/command.c \
	src/race/document.c \
	src/race/race.c \
	src/race/race.h \
	src/race/resume.c \
	src/race/runs.c \
	src/race/table.c \
	src/race/training.c

dist_check_SCRIPTS += tests/sh/race.sh
dist_doc_DATA += doc/race.md
dist_examples_DATA += examples/race-captcha.yaml
EXTRA_DIST += tests/bench/race_torch.py
