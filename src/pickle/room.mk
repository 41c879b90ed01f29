# Files of torch.save: archives, pickles, which are read and never run, and the state dict in them.
libcaptrain_la_SOURCES += \
	src/pickle/opcodes.h \
	src/pickle/pickle.c src/pickle/pickle.h \
	src/pickle/state_dict.c src/pickle/state_dict.h \
	src/pickle/torch_file.c src/pickle/torch_file.h \
	src/pickle/torch_values.c src/pickle/torch_values.h \
	src/pickle/zip.c src/pickle/zip.h

EXTRA_DIST += tests/pickle/hostile.py
dist_check_SCRIPTS += tests/pickle/hostile.sh
EXTRA_DIST += tests/pickle/make_torch.py
dist_check_SCRIPTS += tests/pickle/torch.sh
noinst_PROGRAMS += tests/pickle/same tests/pickle/scores
tests_pickle_same_SOURCES = tests/pickle/same.c
tests_pickle_same_LDADD = libcaptrain_core.la
tests_pickle_scores_SOURCES = tests/pickle/scores.c tests/onnx/even.h
tests_pickle_scores_LDADD = libcaptrain_core.la

EXTRA_DIST += tests/fuzz/corpus/pickle tests/fuzz/corpus/torch
if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_pickle tests/fuzz/fuzz_torch
tests_fuzz_fuzz_pickle_SOURCES = tests/fuzz/fuzz_pickle.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_pickle_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_pickle_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_torch_SOURCES = tests/fuzz/fuzz_torch.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_torch_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_torch_LDFLAGS = $(CT_FUZZER)
endif
