#include "config.h"

#include "base/version.h"

const char *ct_version(void)
{
    return PACKAGE_VERSION;
}
