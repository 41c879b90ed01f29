# The configuration: the table of keys, reading, checking, writing. The built-in one is examples/quickstart.yaml as a C string.
libcaptrain_la_SOURCES += \
	src/config/check.c \
	src/config/check_gloss.c \
	src/config/check_slider.c \
	src/config/check_text.c \
	src/config/config.c src/config/config.h src/config/internal.h \
	src/config/example.c \
	src/config/field.c \
	src/config/keys.h \
	src/config/keys_foreign.c \
	src/config/keys_gloss.c \
	src/config/keys_slider.c \
	src/config/keys_text.c \
	src/config/load.c \
	src/config/lookup.c \
	src/config/parse.c \
	src/config/path.c \
	src/config/problems.c \
	src/config/schema.c \
	src/config/value.c
nodist_libcaptrain_la_SOURCES += src/config/quickstart.c
CLEANFILES += src/config/quickstart.c src/config/quickstart.c.tmp

src/config/quickstart.c: examples/quickstart.yaml src/config/room.mk
	@$(MKDIR_P) src/config
	$(AM_V_GEN){ echo '/* Made from examples/quickstart.yaml. */'; \
		echo '#include "config/config.h"'; \
		echo 'const char ct_config_quickstart[] ='; \
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$$/\\n"/' $(srcdir)/examples/quickstart.yaml; \
		echo '    ;'; } > $@.tmp && mv $@.tmp $@

dist_examples_DATA += examples/quickstart.yaml examples/wilhelmy2013.yaml examples/captcha-package.yaml \
	examples/captcha-package-crnn.yaml examples/captcha-package-many.yaml examples/wilhelmy2013-crnn.yaml
dist_check_SCRIPTS += tests/config/config_keys.sh

check_PROGRAMS += tests/config/check_config
tests_config_check_config_SOURCES = tests/config/check_config.c tests/config/config_util.h
tests_config_check_config_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += tests/fuzz/corpus/config
if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_config_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_config_LDFLAGS = $(CT_FUZZER)
endif
