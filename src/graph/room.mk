# Graph, autodiff, passes, memory plan.
libcaptrain_la_SOURCES += \
	src/graph/graph.c src/graph/graph.h src/graph/internal.h src/graph/autodiff.c \
	src/graph/pass_cast.c src/graph/pass_dead.c src/graph/pass_freeze.c src/graph/pass_fuse.c src/graph/pass_pad.c \
	src/graph/pass_reapply.c src/graph/pass_recompute.c \
	src/graph/layout.c src/graph/memplan.c src/graph/graph_print.c

check_PROGRAMS += tests/check_graph tests/check_graph_grad tests/check_memplan tests/check_passes
tests_check_graph_SOURCES = tests/check_graph.c tests/graph_run.c tests/graph_run.h
tests_check_graph_LDADD = $(CT_TEST_LIBS)
tests_check_graph_grad_SOURCES = tests/check_graph_grad.c tests/graph_run.c tests/graph_run.h
tests_check_graph_grad_LDADD = $(CT_TEST_LIBS)
tests_check_memplan_SOURCES = tests/check_memplan.c tests/graph_run.c tests/graph_run.h
tests_check_memplan_LDADD = $(CT_TEST_LIBS)
tests_check_passes_SOURCES = tests/check_passes.c tests/graph_run.c tests/graph_run.h
tests_check_passes_LDADD = $(CT_TEST_LIBS)
