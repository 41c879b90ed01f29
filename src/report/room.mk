# What a run leaves to be read by people: report.html.
libcaptrain_la_SOURCES += \
	src/report/compare.c \
	src/report/compare.h \
	src/report/compare_html.c \
	src/report/compare_rows.c \
	src/report/report.c \
	src/report/report_curves.c \
	src/report/report_device.c \
	src/report/report_html.h \
	src/report/report_samples.c \
	src/report/report_style.c

dist_check_SCRIPTS += tests/sh/report.sh tests/sh/compare.sh
