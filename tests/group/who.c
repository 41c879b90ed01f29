/* Prints which one of several processes this is: what launchers really set. who fail: number 1 tells of a failure. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "group/identity.h"

int main(int argc, char **argv)
{
    ct_identity id;
    if (ct_identity_read(&id) != CT_OK) {
        fprintf(stderr, "%s\n", ct_error_message());
        return 2;
    }
    printf("%s %d/%d %d/%d %s:%d\n", ct_launcher_name(id.launcher), id.rank, id.size, id.local_rank, id.local_size,
           id.master[0] ? "master" : "", id.port > 0);
    if (argc < 2 || strcmp(argv[1], "fail") != 0) return 0;
    if (id.rank == 1 && ct_identity_tell_failure("number 1 has lost its way") != CT_OK) return 2;
    return id.rank == 1 ? 3 : 0;
}
