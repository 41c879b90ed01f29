# The public interface of verbs that need no training loop.
libcaptrain_la_SOURCES += src/captrain.h src/api/api.c src/api/gen.c src/api/check.c src/api/doctor.c
