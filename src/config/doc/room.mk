# What is said of keys: the help, the man page's section and doc/configuration.md.
libcaptrain_la_SOURCES += src/config/doc/doc.c src/config/doc/doc.h

dist_doc_DATA += doc/configuration.md

check_PROGRAMS += tests/config/check_config_table
tests_config_check_config_table_SOURCES = tests/config/check_config_table.c tests/config/config_util.h
tests_config_check_config_table_LDADD = $(CT_TEST_LIBS)
