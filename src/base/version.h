/* Which captrain this is. */
#ifndef CT_BASE_VERSION_H
#define CT_BASE_VERSION_H

/* The version configure was made with, e.g. "0.2.0". Static storage. */
const char *ct_version(void);

#endif
