# Self-tests against outside truth: golden files, CTC files.
libcaptrain_la_SOURCES += \
	src/selftest/ctc_check.c \
	src/selftest/ctc_check.h \
	src/selftest/each.c \
	src/selftest/each.h \
	src/selftest/golden.c \
	src/selftest/golden.h \
	src/selftest/golden_file.c \
	src/selftest/golden_table.c \
	src/selftest/golden_ties.c \
	src/selftest/selftest.c

check_PROGRAMS += tests/selftest/check_ctc
tests_selftest_check_ctc_SOURCES = tests/selftest/check_ctc.c
tests_selftest_check_ctc_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/selftest/check_golden
tests_selftest_check_golden_SOURCES = tests/selftest/check_golden.c
tests_selftest_check_golden_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += \
	tests/golden/README.md \
	tests/golden/ctc.safetensors \
	tests/golden/ctc-zero-infinity.safetensors \
	tests/golden/make_ctc.py \
	tests/golden/crnn-f32.safetensors \
	tests/golden/crnn-f64.safetensors \
	tests/golden/crnn-stacked-f32.safetensors \
	tests/golden/make_resnet.py \
	tests/golden/resnet18-f32.safetensors \
	tests/golden/resnet101-f32.safetensors \
	tests/golden/resnet152-f32.safetensors \
	tests/golden/textcnn-dropout-f32.safetensors \
	tests/golden/textcnn-dropout-f64.safetensors \
	tests/golden/textcnn-f32.safetensors \
	tests/golden/tfnet-f32.safetensors \
	tests/golden/tfnet-f64.safetensors
