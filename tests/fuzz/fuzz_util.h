/* What fuzz targets share: the input as a file, and the mutator for safetensors files. */
#ifndef CT_TESTS_FUZZ_UTIL_H
#define CT_TESTS_FUZZ_UTIL_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max); /* libFuzzer's */

/* A path under which the bytes can be read as a regular file. The same one each time: what maps it must have let it
 * go. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Changes one thing of a safetensors file and lays it out anew, so that it stays one: the text of a metadata value, a
 * name, a dtype, a dimension, bytes of a tensor. Sometimes it mutates bytes, as libFuzzer does. A file that is none
 * becomes `base`. */
size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t max, unsigned seed, const uint8_t *base,
                               size_t base_size);

#endif
