/* Programs with a fault, for the self-check of tests/torture/run: planted FAULT writes a file made/out with one line.
 * Each handles a failed allocation in its own way, only `good` in the right one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "good";
    char *p = malloc(100);
    if (!p && strcmp(fault, "crash") == 0) strcpy((char *)(argv[0] == NULL ? argv[0] : NULL) + argc, "never");
    while (!p && strcmp(fault, "hang") == 0) sleep(1);
    if (!p && strcmp(fault, "silent") == 0) return 1;
    if (!p && strcmp(fault, "lie") == 0) return 0; /* without its file */
    if (!p && strcmp(fault, "odd") == 0) return 77;
    if (!p) {
        fputs("planted: out of memory\n", stderr);
        return 1;
    }
    FILE *f = fopen("made/out", "w");
    if (!f) {
        fputs("planted: out cannot be written\n", stderr);
        return 1;
    }
    strcpy(p, "a line\n");
    fputs(p, f);
    free(p);
    return fclose(f) == 0 ? 0 : 1;
}
