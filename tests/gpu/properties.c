/* Writes what cuDNN knows of the card here, as JSON, to standard output: a file for tests/emulate/devices/, from which convolutions are
 * planned where no card is. Exit 0, or 1 with the reason. */
#include "config.h"

#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what, cudnnStatus_t s)
{
    fprintf(stderr, "properties: %s: %s\n", what, cudnnGetErrorString(s));
    return 1;
}

int main(void)
{
#if CUDNN_VERSION >= 90800
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t d = NULL;
    int64_t n = 0;
    cudnnStatus_t s = cudnnCreate(&handle);
    if (s != CUDNN_STATUS_SUCCESS) return failed("cuDNN cannot be started", s);
    s = cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
    if (s == CUDNN_STATUS_SUCCESS) s = cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    if (s == CUDNN_STATUS_SUCCESS) s = cudnnBackendFinalize(d);
    if (s != CUDNN_STATUS_SUCCESS) return failed("asking for the card's properties", s);
    s = cudnnBackendGetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &n, NULL);
    if (s != CUDNN_STATUS_SUCCESS || n <= 0) return failed("asking for their length", s);
    char *text = calloc((size_t)n + 1, 1);
    if (!text) return failed("memory", CUDNN_STATUS_ALLOC_FAILED);
    s = cudnnBackendGetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, &n, text);
    if (s == CUDNN_STATUS_SUCCESS) puts(text);
    free(text);
    (void)cudnnBackendDestroyDescriptor(d);
    (void)cudnnDestroy(handle);
    return s == CUDNN_STATUS_SUCCESS ? 0 : failed("reading them", s);
#else
    fprintf(stderr, "properties: cuDNN before 9.8 does not tell them\n");
    return 1;
#endif
}
