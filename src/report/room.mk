# What a run leaves to be read by people: report.html.
libcaptrain_la_SOURCES += \
	src/report/report.c \
	src/report/report_curves.c \
	src/report/report_device.c \
	src/report/report_html.h \
	src/report/report_style.c
