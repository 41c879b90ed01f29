#!/bin/sh
# README's commands, the long ones shortened; .ci/run readme runs them as they stand.
exec "${CT_SRCDIR:?}/tests/readme/run" --quick
