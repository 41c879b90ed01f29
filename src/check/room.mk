# What a folder of labelled pictures holds, for `captrain check`.
libcaptrain_la_SOURCES += \
	src/check/check.c \
	src/check/check.h \
	src/check/report.c
