/* The table of keys as documentation. */
#ifndef CT_CONFIG_DOC_DOC_H
#define CT_CONFIG_DOC_DOC_H

#include <stdbool.h>
#include <stdio.h>

void ct_config_print_help(FILE *f);      /* for `captrain help config`: plain text, 80+ columns */
/* The same for one key, by its name or another, or for the keys of a section and those below it. False: there is
 * neither. */
bool ct_config_print_topic(FILE *f, const char *topic);
void ct_config_print_markdown(FILE *f);  /* doc/configuration.md */
void ct_config_print_roff(FILE *f);      /* the man page's section, man(7) macros */

#endif
