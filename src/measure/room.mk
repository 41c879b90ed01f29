# Measuring: timing operator calls, peaks of the machine, the cache of measured choices.
libcaptrain_la_SOURCES += \
	src/measure/measure.c \
	src/measure/measure.h \
	src/measure/tune.h \
	src/measure/tune_cache.c
