# The public interface of verbs that need no training loop.
libcaptrain_la_SOURCES += src/captrain.h src/api/api.c src/api/gen.c src/api/check.c src/api/doctor.c src/api/monitor.c src/api/smoke.c src/api/smoke.h

check_PROGRAMS += tests/check_telemetry
tests_check_telemetry_SOURCES = tests/check_telemetry.c
tests_check_telemetry_LDADD = $(CT_TEST_LIBS)
