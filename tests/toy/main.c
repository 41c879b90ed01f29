/* The program with one more task: two rows are all it takes. */
#include "config.h"

#include "cli/cli.h"
#include "toy/toy.h"

int main(int argc, char **argv)
{
    ct_status st = ct_model_add(&toy_model);
    if (st == CT_OK) st = ct_task_add(&toy_task);
    return st == CT_OK ? cli_main(argc, argv) : cli_finish(st);
}
