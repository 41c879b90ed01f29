# Graphs: nodes, autodiff, passes, layout, memory plan; no device, no input or output.
libcaptrain_la_SOURCES += \
	src/graph/dirac.c src/graph/ends.c src/graph/graph.c src/graph/graph.h src/graph/internal.h src/graph/autodiff.c \
	src/graph/pass_accumulate.c src/graph/pass_cast.c src/graph/pass_dead.c src/graph/pass_flat.c src/graph/pass_freeze.c src/graph/pass_fuse.c src/graph/pass_join.c src/graph/pass_measure.c src/graph/pass_pad.c \
	src/graph/pass_reapply.c src/graph/pass_recompute.c src/graph/pass_still.c src/graph/pass_sync.c \
	src/graph/layout.c src/graph/memplan.c src/graph/graph_print.c

check_PROGRAMS += tests/graph/check_graph tests/graph/check_graph_grad tests/graph/check_memplan tests/graph/check_passes tests/graph/check_fuse
tests_graph_check_graph_SOURCES = tests/graph/check_graph.c tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_graph_LDADD = $(CT_TEST_LIBS)
tests_graph_check_graph_grad_SOURCES = tests/graph/check_graph_grad.c tests/graph/graph_compare.c tests/graph/graph_compare.h \
	tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_graph_grad_LDADD = $(CT_TEST_LIBS)
tests_graph_check_memplan_SOURCES = tests/graph/check_memplan.c tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_memplan_LDADD = $(CT_TEST_LIBS)
tests_graph_check_passes_SOURCES = tests/graph/check_passes.c tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_passes_LDADD = $(CT_TEST_LIBS)
tests_graph_check_fuse_SOURCES = tests/graph/check_fuse.c tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_fuse_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/graph/check_standardized
tests_graph_check_standardized_SOURCES = tests/graph/check_standardized.c tests/graph/graph_compare.c tests/graph/graph_compare.h \
	tests/graph/graph_run.c tests/graph/graph_run.h
tests_graph_check_standardized_LDADD = $(CT_TEST_LIBS)
