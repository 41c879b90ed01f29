/* Times ct_model_read(): see the script `library` beside this. */
#define _GNU_SOURCE
#include <captrain.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PICTURES_MAX 2000
#define THREADS 4

static ct_picture file[PICTURES_MAX], pixels[PICTURES_MAX];
static size_t n;
static int rounds = 5;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(ct_status st)
{
    if (st == CT_OK) return;
    fprintf(stderr, "%s\n", ct_error_message());
    exit(1);
}

static void load(const char *folder)
{
    struct dirent **entry;
    const int all = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < all && n < PICTURES_MAX; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        FILE *f = strstr(path, ".png") ? fopen(path, "rb") : NULL;
        if (!f) continue;
        unsigned char *data = malloc(1 << 20);
        file[n] = (ct_picture){ .size = sizeof *file, .data = data, .bytes = fread(data, 1, 1 << 20, f) };
        /* Noise of the size of the file's header: what a read costs does not depend on what is seen. */
        const int w = data[18] << 8 | data[19], h = data[22] << 8 | data[23];
        unsigned char *px = malloc((size_t)w * (size_t)h * 3);
        for (int k = 0; k < w * h * 3; k++) px[k] = (unsigned char)rand();
        pixels[n] = (ct_picture){ .size = sizeof *pixels, .data = px, .bytes = (size_t)w * (size_t)h * 3,
                                  .pixels = CT_PIXELS_RGB, .width = w, .height = h };
        fclose(f);
        n++;
    }
    if (n == 0) {
        fprintf(stderr, "%s: holds no PNG files\n", folder);
        exit(1);
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds for all pictures, `step` at a call. */
static double once(ct_model *m, const ct_picture *p, size_t step)
{
    const double start = now();
    for (size_t i = 0; i < n; i += step) {
        ct_readings *r;
        must(ct_model_read(m, &p[i], n - i < step ? n - i : step, NULL, &r));
        ct_readings_free(r);
    }
    return now() - start;
}

static void report(ct_model *m, const char *what, const ct_picture *p, size_t step)
{
    double s[100];
    once(m, p, step); /* plans what is not planned yet */
    for (int k = 0; k < rounds; k++) s[k] = once(m, p, step);
    qsort(s, (size_t)rounds, sizeof *s, ascending);
    printf("%-36s %.3f ms a picture (%.3f to %.3f)\n", what, 1e3 * s[rounds / 2] / (double)n, 1e3 * s[0] / (double)n,
           1e3 * s[rounds - 1] / (double)n);
}

static void *reader(void *m)
{
    for (int k = 0; k < rounds; k++) once(m, file, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    ct_model *m;
    ct_model_description d = { .size = sizeof d };
    pthread_t thread[THREADS];
    if (argc > 3) rounds = atoi(argv[3]);
    if (argc < 3 || rounds < 1 || rounds > 100) return 2;
    load(argv[2]);
    double start = now();
    must(ct_model_open(argv[1], NULL, &m));
    must(ct_model_describe(m, &d));
    printf("%s, %dx%dx%d, %zu pictures; opened in %.1f ms\n", d.model, d.width, d.height, d.channels, n, 1e3 * (now() - start));
    report(m, "PNG in memory, one at a call", file, 1);
    report(m, "RGB pixels, one at a call", pixels, 1);
    report(m, "PNG in memory, 64 at a call", file, 64);
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, reader, m);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL); /* every session has been made */
    start = now();
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, reader, m);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    printf("%-36s %.0f pictures a second\n", "PNG in memory, 4 threads", (double)n * THREADS * rounds / (now() - start));
    ct_model_close(m);
    return 0;
}
