# Builders of models, and what they are built of.
libcaptrain_la_SOURCES += \
	src/models/blocks.c \
	src/models/blocks.h \
	src/models/crnn.c \
	src/models/hrnet.c \
	src/models/layers.c \
	src/models/models.c \
	src/models/models.h \
	src/models/neck.c \
	src/models/neck.h \
	src/models/reader.c \
	src/models/resnet.c \
	src/models/slider.c \
	src/models/textcnn.c \
	src/models/tfnet.c \
	src/models/torch_map.c \
	src/models/torch_map.h \
	src/models/zoo.h

check_PROGRAMS += tests/models/check_models tests/models/check_networks
tests_models_check_models_SOURCES = tests/models/check_models.c
tests_models_check_models_LDADD = $(CT_TEST_LIBS)
tests_models_check_networks_SOURCES = tests/models/check_networks.c tests/graph/graph_compare.c tests/graph/graph_compare.h \
	tests/graph/graph_run.c tests/graph/graph_run.h
tests_models_check_networks_LDADD = $(CT_TEST_LIBS)
