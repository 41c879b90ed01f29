#include <captrain.h>

int main(int argc, char **argv)
{
    const ct_option beam[] = { { "decoder", "greedy" } };
    ct_predict_opts o = { .size = sizeof o, .model = argv[1], .json = true, .option = beam, .noptions = 1 };
    if (argc < 3) return 2;
    o.files = (const char *const *)argv + 2;
    o.nfiles = (size_t)argc - 2;
    ct_status st = ct_run_predict(&o, stdout);
    if (st != CT_OK) fprintf(stderr, "%s\n", ct_error_message());
    return ct_exit_code(st);
}
