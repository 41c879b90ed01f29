#!/bin/sh
# The checks for a machine with a GPU (tests/gpu/run), with the plug-in of this build: skipped where there is none.
CAPTRAIN_BACKEND_PATH="${CT_BUILDDIR:?}/.libs"
export CAPTRAIN_BACKEND_PATH
exec "${CT_SRCDIR:?}/tests/gpu/run" --captrain "$CT_BUILDDIR/captrain"
