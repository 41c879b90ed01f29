dist_doc_DATA += doc/performance.md
EXTRA_DIST += doc/report.png

# The manual page is printed by the program itself, from the tables its parser reads.
if !CROSS_COMPILING
man_MANS += doc/captrain.1
endif
CLEANFILES += doc/captrain.1
doc/captrain.1: captrain$(EXEEXT)
	@$(MKDIR_P) doc
	$(AM_V_GEN)./captrain$(EXEEXT) help man > $@.tmp && mv $@.tmp $@
