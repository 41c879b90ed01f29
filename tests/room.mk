# Build list of this room; see HACKING.md.
include $(top_srcdir)/tests/harness/room.mk
