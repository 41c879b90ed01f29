/* How models of sign language leave for other programs: the scores that glosses are read from. */
#include "config.h"

#include "task/gloss/gloss.h"

const ct_leaving ct_gloss_leaving = { .output = { { .name = "scores", .output = "lp5", .rows = true } } };
