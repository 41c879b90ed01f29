# The slider task: pictures with a gap, and the piece that fits into it.
libcaptrain_la_SOURCES += \
	src/task/slider/label.c \
	src/task/slider/label.h
