#include <captrain.h>
#include <pthread.h>
#include <string.h>

/* threads MODEL FILE...: four threads read all files with one handle; prints file and text once all agree. */
static ct_model *model;
static char **file, text[4][1000][64];
static int files;

static void *reader(void *arg)
{
    char (*mine)[64] = arg;
    for (int i = 0; i < files && i < 1000; i++) {
        ct_picture p = { .size = sizeof p, .path = file[i] };
        ct_readings *r;
        if (ct_model_read(model, &p, 1, NULL, &r) == CT_OK) snprintf(mine[i], 64, "%s", ct_readings_at(r, 0)->text);
        else snprintf(mine[i], 64, "(%.60s)", ct_error_message()); /* this thread's own */
        ct_readings_free(r);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[4];
    int differ = 0;
    if (argc < 3 || ct_model_open(argv[1], NULL, &model) != CT_OK) return 2;
    file = argv + 2;
    files = argc - 2;
    for (int t = 0; t < 4; t++) pthread_create(&thread[t], NULL, reader, text[t]);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    ct_model_close(model);
    for (int i = 0; i < files && i < 1000; i++) {
        for (int t = 1; t < 4; t++) differ += strcmp(text[t][i], text[0][i]) != 0;
        printf("%s\t%s\n", file[i], text[0][i]);
    }
    return differ != 0;
}
