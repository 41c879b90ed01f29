# The task of continuous sign language: clips of a signer, read as rows of glosses.
libcaptrain_la_SOURCES += \
	src/task/gloss/cleanup.c \
	src/task/gloss/cleanup.h \
	src/task/gloss/eval.c \
	src/task/gloss/facts.c \
	src/task/gloss/findings.c \
	src/task/gloss/findings.h \
	src/task/gloss/folder.c \
	src/task/gloss/generator.c \
	src/task/gloss/gloss.c \
	src/task/gloss/gloss.h \
	src/task/gloss/goal.c \
	src/task/gloss/golden.c \
	src/task/gloss/leaving.c \
	src/task/gloss/lexicon.c \
	src/task/gloss/lexicon.h \
	src/task/gloss/metrics.c \
	src/task/gloss/program.c \
	src/task/gloss/propose.c \
	src/task/gloss/reader.c \
	src/task/gloss/reading.c \
	src/task/gloss/reader.h \
	src/task/gloss/remap.c \
	src/task/gloss/report.c \
	src/task/gloss/rows.c \
	src/task/gloss/rows.h \
	src/task/gloss/survey.c \
	src/task/gloss/vocabulary.c \
	src/task/gloss/vocabulary.h

dist_examples_DATA += examples/ce-csl.yaml examples/gestures.yaml

check_PROGRAMS += tests/task/gloss/check_gloss_labels tests/task/gloss/check_gloss_scores
tests_task_gloss_check_gloss_scores_SOURCES = tests/task/gloss/check_gloss_scores.c
tests_task_gloss_check_gloss_scores_LDADD = $(CT_TEST_LIBS)
tests_task_gloss_check_gloss_labels_SOURCES = tests/task/gloss/check_gloss_labels.c tests/data/data_util.c tests/data/data_util.h
tests_task_gloss_check_gloss_labels_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/gloss/check_gloss_folder
tests_task_gloss_check_gloss_folder_SOURCES = tests/task/gloss/check_gloss_folder.c tests/data/data_util.c tests/data/data_util.h
tests_task_gloss_check_gloss_folder_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/gloss/check_gloss_weights
tests_task_gloss_check_gloss_weights_SOURCES = tests/task/gloss/check_gloss_weights.c
tests_task_gloss_check_gloss_weights_LDADD = $(CT_TEST_LIBS)

# Against PyTorch, by hand: `peer` says how.
noinst_PROGRAMS += tests/task/gloss/scores
tests_task_gloss_scores_SOURCES = tests/task/gloss/scores.c
tests_task_gloss_scores_LDADD = libcaptrain_core.la
EXTRA_DIST += tests/task/gloss/peer tests/task/gloss/published

dist_check_SCRIPTS += tests/task/gloss/bad_clips.sh tests/task/gloss/documents.sh \
	tests/task/gloss/lengths.sh tests/task/gloss/reference.sh tests/task/gloss/same_glosses.sh \
	tests/task/gloss/same_weights.sh
EXTRA_DIST += tests/task/gloss/reference/gpu_config.json
