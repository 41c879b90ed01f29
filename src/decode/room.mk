# Texts out of a sequence model's scores, and how far they are from labels: host code without a device.
libcaptrain_la_SOURCES += \
	src/decode/beam.c src/decode/beam.h \
	src/decode/edit.c src/decode/edit.h

check_PROGRAMS += tests/decode/check_decode
tests_decode_check_decode_SOURCES = tests/decode/check_decode.c
tests_decode_check_decode_LDADD = $(CT_TEST_LIBS)
