# The task of continuous sign language: clips of a signer, read as rows of glosses.
libcaptrain_la_SOURCES += \
	src/task/gloss/gloss.c \
	src/task/gloss/gloss.h \
	src/task/gloss/goal.c \
	src/task/gloss/golden.c \
	src/task/gloss/program.c \
	src/task/gloss/vocabulary.h
