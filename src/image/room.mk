# Pictures: decoding, encoding, resizing; where fonts are.
libcaptrain_la_SOURCES += \
	src/image/bmp.c \
	src/image/font.c \
	src/image/font.h \
	src/image/image.c \
	src/image/image.h \
	src/image/image_internal.h \
	src/image/jpeg.c \
	src/image/memory.c \
	src/image/pixels.c \
	src/image/png.c \
	src/image/resize.c \
	src/image/webp.c

check_PROGRAMS += tests/image/check_data_image
tests_image_check_data_image_SOURCES = tests/image/check_data_image.c tests/data/data_util.c tests/data/data_util.h
tests_image_check_data_image_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/image/check_image_memory
tests_image_check_image_memory_SOURCES = tests/image/check_image_memory.c tests/data/data_util.c tests/data/data_util.h
tests_image_check_image_memory_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/image/check_jpeg_write
tests_image_check_jpeg_write_SOURCES = tests/image/check_jpeg_write.c tests/data/data_util.c tests/data/data_util.h
tests_image_check_jpeg_write_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/image/check_bmp_webp
tests_image_check_bmp_webp_SOURCES = tests/image/check_bmp_webp.c
tests_image_check_bmp_webp_LDADD = $(CT_TEST_LIBS) $(WEBP_LIBS)
