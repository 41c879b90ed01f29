# The slider task: pictures with a gap, and the piece that fits into it.
libcaptrain_la_SOURCES += \
	src/task/slider/eval.c \
	src/task/slider/findings.c \
	src/task/slider/findings.h \
	src/task/slider/folder.c \
	src/task/slider/generator.c \
	src/task/slider/goal.c \
	src/task/slider/goal.h \
	src/task/slider/golden.c \
	src/task/slider/label.c \
	src/task/slider/label.h \
	src/task/slider/metrics.c \
	src/task/slider/program.c \
	src/task/slider/reader.c \
	src/task/slider/report.c \
	src/task/slider/slider.c \
	src/task/slider/slider.h \
	src/task/slider/survey.c

# The generator of these pictures.
libcaptrain_la_SOURCES += \
	src/task/slider/draw.c \
	src/task/slider/draw.h \
	src/task/slider/draw_files.c \
	src/task/slider/draw_fill.c \
	src/task/slider/draw_folder.c \
	src/task/slider/draw_ground.c \
	src/task/slider/draw_internal.h \
	src/task/slider/draw_look.c \
	src/task/slider/draw_mask.c \
	src/task/slider/draw_outline.c \
	src/task/slider/draw_paint.c \
	src/task/slider/draw_place.c \
	src/task/slider/draw_scene.c \
	src/task/slider/draw_tiles.c
