/* The program with the models of even.h: no test itself, tests/sh/onnx.sh runs it. */
#include "config.h"

#include "cli/cli.h"
#include "tests/onnx/even.h"

int main(int argc, char **argv)
{
    const ct_status st = even_models_add();
    return st == CT_OK ? cli_main(argc, argv) : cli_finish(st);
}
