# Text files of records, label files among them.
libcaptrain_la_SOURCES += \
	src/lists/encoding.c \
	src/lists/label_files.c \
	src/lists/label_files.h \
	src/lists/label_lines.c \
	src/lists/label_table.c \
	src/lists/table.c \
	src/lists/table.h
