#include <captrain.h>

int main(int argc, char **argv)
{
    const char *sets[] = { argc > 2 ? argv[2] : "train.epochs=1" };
    const char *config = argc > 1 ? argv[1] : NULL; /* NULL: the built-in example */
    ct_train_opts o = { .size = sizeof o, .config = config, .sets = sets, .nsets = 1, .out = "RUN" };
    ct_train_result r = { .size = sizeof r };
    ct_set_verbosity(0);
    ct_status st = ct_run_train(&o, &r);
    if (st != CT_OK) {
        fprintf(stderr, "%s\n", ct_error_message());
        return ct_exit_code(st);
    }
    for (int i = 0; i < r.nmetrics; i++) printf("%s %.4f\n", r.metric[i].key, r.metric[i].value);
    printf("%s\n", r.model);
    return 0;
}
