/* Where fonts are. */
#ifndef CT_IMAGE_FONT_H
#define CT_IMAGE_FONT_H

#include "base/status.h"

/* The path of font `name` into *path (ct_free). A name with '/' is taken as it is; else the directories of
 * CAPTRAIN_FONT_PATH (colon-separated), then the system's DejaVu, Liberation, TTF and user font directories are
 * searched. CT_ECONFIG, naming the package to install, when it is nowhere. */
ct_status ct_font_find(const char *name, char **path);

#endif
