#include <captrain.h>

/* read MODEL WIDTH HEIGHT < PIXELS: gray, a byte a pixel, row after row. */
int main(int argc, char **argv)
{
    static unsigned char px[1 << 20];
    ct_model *model = NULL;
    ct_readings *all = NULL;
    ct_picture p = { .size = sizeof p, .data = px, .pixels = CT_PIXELS_GRAY };
    if (argc < 4 || sscanf(argv[2], "%d", &p.width) + sscanf(argv[3], "%d", &p.height) != 2) return 2;
    p.bytes = fread(px, 1, sizeof px, stdin);
    ct_status st = ct_model_open(argv[1], NULL, &model);           /* once */
    if (st == CT_OK) st = ct_model_read(model, &p, 1, NULL, &all); /* as often as you like, from any thread */
    if (st != CT_OK) fprintf(stderr, "%s\n", ct_error_message());
    else printf("%s\t%.4f\n", ct_readings_at(all, 0)->text, ct_readings_at(all, 0)->confidence);
    ct_readings_free(all);
    ct_model_close(model);
    return ct_exit_code(st);
}
