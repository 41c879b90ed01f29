# Where graphs meet devices: backend registry, dispatch, arenas, plans.
libcaptrain_la_SOURCES += \
	src/exec/arenas.c \
	src/exec/choices.c \
	src/exec/comm.c src/exec/comm.h \
	src/exec/dispatch.c \
	src/exec/engine.c src/exec/engine.h \
	src/exec/exec.h \
	src/exec/internal.h \
	src/exec/plan.c \
	src/exec/plugin.c src/exec/plugin.h \
	src/exec/receipt.c \
	src/exec/registry.c \
	src/exec/staged.c src/exec/staged.h \
	src/exec/telemetry.c src/exec/telemetry.h \
	src/exec/validate.c

# Where the program is built, so that it finds its plug-ins before it is installed.
nodist_libcaptrain_la_SOURCES += src/exec/build_tree.h
BUILT_SOURCES += src/exec/build_tree.h
CLEANFILES += src/exec/build_tree.h src/exec/build_tree.h.tmp
src/exec/build_tree.h: Makefile
	@$(MKDIR_P) src/exec
	$(AM_V_GEN)printf '#ifndef CT_BUILD_TREE\n#define CT_BUILD_TREE "%s"\n#endif\n' '$(abs_top_builddir)' > $@.tmp && mv $@.tmp $@

EXTRA_DIST += tests/plugins/plugin.c
check_LTLIBRARIES += \
	tests/plugins/good/captrain-cuda.la \
	tests/plugins/abi/captrain-cuda.la \
	tests/plugins/nosymbol/captrain-cuda.la \
	tests/plugins/nodevice/captrain-cuda.la \
	tests/plugins/refuses/captrain-cuda.la \
	tests/plugins/silent/captrain-cuda.la
CT_TEST_PLUGIN = -module -avoid-version -shared -rpath $(abs_top_builddir)/tests/plugins
tests_plugins_good_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_good_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_GOOD=1
tests_plugins_good_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_abi_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_abi_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_ABI=1
tests_plugins_abi_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_nosymbol_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_nosymbol_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_NO_SYMBOL=1
tests_plugins_nosymbol_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_nodevice_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_nodevice_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_NO_DEVICE=1
tests_plugins_nodevice_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_refuses_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_refuses_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_REFUSES=1
tests_plugins_refuses_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_silent_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_plugins_silent_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_SILENT=1
tests_plugins_silent_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)

# A program in a build tree of its own: tests/exec, with a plug-in where one is built.
check_LTLIBRARIES += tests/exec/captrain-cuda.la
tests_exec_captrain_cuda_la_SOURCES = tests/plugins/plugin.c
tests_exec_captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN_GOOD=1
tests_exec_captrain_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
check_PROGRAMS += tests/exec/check_build_tree
tests_exec_check_build_tree_SOURCES = tests/exec/check_build_tree.c src/exec/plugin.c
tests_exec_check_build_tree_CPPFLAGS = $(AM_CPPFLAGS) -DCT_BUILD_TREE='"$(abs_top_builddir)/tests/exec"'
tests_exec_check_build_tree_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/exec/check_exec
tests_exec_check_exec_SOURCES = tests/exec/check_exec.c
tests_exec_check_exec_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/exec/check_comm
tests_exec_check_comm_SOURCES = tests/exec/check_comm.c tests/exec/comm_suite.c tests/exec/comm_suite.h
tests_exec_check_comm_LDADD = $(CT_TEST_LIBS)

# Engines, good and bad ones.
EXTRA_DIST += tests/plugins/engine.c
check_LTLIBRARIES += \
	tests/plugins/good/captrain-mpi.la \
	tests/plugins/abi/captrain-mpi.la \
	tests/plugins/lacks/captrain-mpi.la \
	tests/plugins/nosymbol/captrain-mpi.la \
	tests/plugins/refuses/captrain-mpi.la
tests_plugins_good_captrain_mpi_la_SOURCES = tests/plugins/engine.c
tests_plugins_good_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_abi_captrain_mpi_la_SOURCES = tests/plugins/engine.c
tests_plugins_abi_captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DENGINE_ABI
tests_plugins_abi_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_lacks_captrain_mpi_la_SOURCES = tests/plugins/engine.c
tests_plugins_lacks_captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DENGINE_LACKS
tests_plugins_lacks_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_nosymbol_captrain_mpi_la_SOURCES = tests/plugins/engine.c
tests_plugins_nosymbol_captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DENGINE_NO_SYMBOL
tests_plugins_nosymbol_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
tests_plugins_refuses_captrain_mpi_la_SOURCES = tests/plugins/engine.c
tests_plugins_refuses_captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DENGINE_REFUSES
tests_plugins_refuses_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) $(CT_TEST_PLUGIN)
check_PROGRAMS += tests/exec/check_engine
tests_exec_check_engine_SOURCES = tests/exec/check_engine.c
tests_exec_check_engine_LDADD = $(CT_TEST_LIBS)
