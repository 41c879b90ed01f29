/* cuDNN's graph interface on the emulated card: one convolution, with a bias or without, as plain loops, offered by a few engines of
 * different virtues. Descriptors are copied where they are set, as there, so that a plan outlives what it was made of. */
#include <stdlib.h>
#include <string.h>

#include <map>
#include <memory>
#include <vector>

#include "cudnn.h"
#include "emulate.h"

struct emu_dnn { cudaStream_t stream; };

struct thing;
typedef std::shared_ptr<thing> ref;
struct thing {
    cudnnBackendDescriptorType_t type;
    bool final;
    std::map<int, std::vector<char>> plain;
    std::map<int, std::vector<ref>> things;
};
static ref &of(cudnnBackendDescriptor_t d) { return *(ref *)d; }

static size_t size_of(cudnnBackendAttributeType_t t)
{
    switch (t) {
    case CUDNN_TYPE_BOOLEAN: return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR: return 8;
    default: return 4;
    }
}
template <typename T> static T get(const ref &r, int name, size_t i = 0)
{
    T v;
    memcpy(&v, r->plain[name].data() + i * sizeof v, sizeof v);
    return v;
}

/* Engines. Number 1 is what the heuristics like best, and wants more scratch than any step should give it; 4 does not repeat its bits; 5 adds
 * in 16 bits; 6 is where only the last list goes; 7 multiplies transformed operands, and rounds for it; 62 has no note that it adds in 16 bits, as
 * the real one, and is offered first for the filters' gradient in f16. */
enum { TENSOR = 1 << CUDNN_NUMERICAL_NOTE_TENSOR_CORE, WINOGRAD = 7, SILENT = 62 };
static const struct engine {
    int64_t number, workspace;
    unsigned notes;
} engines[] = { { 1, (int64_t)3 << 30, TENSOR }, { 2, 1000, TENSOR },
                { 3, 0, 0 },                     { 4, 0, TENSOR | 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC },
                { 5, 0, TENSOR | 1u << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION }, { 6, 64, TENSOR },
                { WINOGRAD, 0, 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 }, { SILENT, 0, TENSOR } };
static const engine *find_engine(int64_t number)
{
    for (const engine &e : engines)
        if (e.number == number) return &e;
    return NULL;
}

static ref make(cudnnBackendDescriptorType_t type)
{
    ref r = std::make_shared<thing>();
    r->type = type;
    r->final = false;
    return r;
}
template <typename T> static void put(const ref &r, int name, T v)
{
    r->plain[name].assign((const char *)&v, (const char *)&v + sizeof v);
}

/* The configurations of a list. */
static std::vector<ref> configs(const ref &heuristics)
{
    static const std::vector<int64_t> list[] = { { 5, 1, 4, 2, 3, WINOGRAD }, { 2, 3 }, { 6, 3 } };
    std::vector<ref> out;
    std::vector<int64_t> numbers = list[get<cudnnBackendHeurMode_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE)];
    const ref op = heuristics->things[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH].at(0)->things[CUDNN_ATTR_OPERATIONGRAPH_OPS].at(0);
    if (op->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
        get<cudnnDataType_t>(op->things[CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X].at(0), CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_HALF)
        numbers.insert(numbers.begin(), SILENT);
    for (int64_t number : numbers) {
        ref e = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR), c = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), k = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        e->things[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = heuristics->things[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH];
        put(e, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
        put(k, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, (int)CUDNN_KNOB_TYPE_SPLIT_K);
        put(k, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, number + 1);
        c->things[CUDNN_ATTR_ENGINECFG_ENGINE] = { e };
        c->things[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = { k };
        e->final = c->final = k->final = true;
        out.push_back(c);
    }
    return out;
}

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t *h) { return *h = new emu_dnn(), CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t h) { return delete h, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) { return h->stream = s, CUDNN_STATUS_SUCCESS; }
size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
const char *cudnnGetErrorString(cudnnStatus_t s) { return s == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM"; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d)
{
    return *d = new ref(make(type)), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) { return delete (ref *)d, CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    const ref &r = of(d);
    if (r->final || n < 1) return CUDNN_STATUS_BAD_PARAM;
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        r->plain[name].assign((const char *)values, (const char *)values + (size_t)n * size_of(type));
        return CUDNN_STATUS_SUCCESS;
    }
    r->things[name].clear();
    for (int64_t i = 0; i < n; i++) {
        const ref &x = of(((const cudnnBackendDescriptor_t *)values)[i]);
        if (!x->final) return CUDNN_STATUS_BAD_PARAM;
        r->things[name].push_back(std::make_shared<thing>(*x));
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t *n, void *values)
{
    const ref &r = of(d);
    if (!r->final) return CUDNN_STATUS_BAD_PARAM;
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
        const unsigned notes = find_engine(get<int64_t>(r, CUDNN_ATTR_ENGINE_GLOBAL_INDEX))->notes;
        *n = 0;
        for (int k = 0; k < CUDNN_NUMERICAL_NOTE_TYPE_COUNT && *n < room; k++)
            if (notes >> k & 1) ((cudnnBackendNumericalNote_t *)values)[(*n)++] = (cudnnBackendNumericalNote_t)k;
        return CUDNN_STATUS_SUCCESS;
    }
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const std::vector<ref> list = name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? configs(r) : r->things[name];
        *n = (int64_t)list.size() < room ? (int64_t)list.size() : room;
        for (int64_t i = 0; i < *n; i++) of(((cudnnBackendDescriptor_t *)values)[i]) = list[(size_t)i];
        return CUDNN_STATUS_SUCCESS;
    }
    const std::vector<char> &v = r->plain[name];
    *n = (int64_t)(v.size() / size_of(type));
    if (*n == 0 || *n > room) return CUDNN_STATUS_BAD_PARAM;
    memcpy(values, v.data(), v.size());
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
    const ref &r = of(d);
    if (r->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
        const cudnnBackendHeurMode_t mode = get<cudnnBackendHeurMode_t>(r, CUDNN_ATTR_ENGINEHEUR_MODE);
        if (emu_wrong("dnn") || (emu_wrong("dnn-list") && mode == CUDNN_HEUR_MODE_A)) return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (r->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && !find_engine(get<int64_t>(r, CUDNN_ATTR_ENGINE_GLOBAL_INDEX)))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (r->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        const ref e = r->things[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG].at(0)->things[CUDNN_ATTR_ENGINECFG_ENGINE].at(0);
        put(r, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, find_engine(get<int64_t>(e, CUDNN_ATTR_ENGINE_GLOBAL_INDEX))->workspace);
    }
    r->final = true;
    return CUDNN_STATUS_SUCCESS;
}
}

/* ---- running ---- */

/* A tensor in cuDNN's order of dimensions (n, c, h, w). */
struct tensor {
    int type; /* cudaDataType */
    int64_t id, dim[4], stride[4];
    void *p;
    int64_t at(int64_t a, int64_t b, int64_t c, int64_t d) const { return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]; }
    int64_t extent() const { return at(dim[0] - 1, dim[1] - 1, dim[2] - 1, dim[3] - 1) + 1; }
};

static tensor read_tensor(const ref &op, int name, const ref &pack)
{
    const ref t = op->things[name].at(0);
    tensor x;
    const cudnnDataType_t type = get<cudnnDataType_t>(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
    x.type = type == CUDNN_DATA_HALF ? 2 : type == CUDNN_DATA_BFLOAT16 ? 14 : 0;
    x.id = get<int64_t>(t, CUDNN_ATTR_TENSOR_UNIQUE_ID);
    for (size_t i = 0; i < 4; i++) {
        x.dim[i] = get<int64_t>(t, CUDNN_ATTR_TENSOR_DIMENSIONS, i);
        x.stride[i] = get<int64_t>(t, CUDNN_ATTR_TENSOR_STRIDES, i);
    }
    x.p = NULL;
    const size_t n = pack->plain[CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS].size() / 8;
    for (size_t i = 0; i < n; i++)
        if (get<int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == x.id) x.p = get<void *>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i);
    return x;
}

struct window { int64_t pad[2], stride[2], dil[2], engine; };

/* One of the three is the result: `out` is x, w or y. Its sums are f64, which f32 sums agree with to rounding. */
static void convolve(const tensor &x, const tensor &w, const tensor &y, const tensor *out, const window &v)
{
    std::vector<double> sum((size_t)out->extent(), 0);
    const int64_t filters = w.dim[0], cg = w.dim[1], groups = x.dim[1] / cg, kg = filters / groups;
    for (int64_t n = 0; n < y.dim[0]; n++)
        for (int64_t p = 0; p < y.dim[2]; p++)
            for (int64_t q = 0; q < y.dim[3]; q++)
                for (int64_t r = 0; r < w.dim[2]; r++)
                    for (int64_t s = 0; s < w.dim[3]; s++) {
                        const int64_t h = p * v.stride[0] - v.pad[0] + r * v.dil[0], u = q * v.stride[1] - v.pad[1] + s * v.dil[1];
                        if (h < 0 || u < 0 || h >= x.dim[2] || u >= x.dim[3]) continue;
                        for (int64_t k = 0; k < filters; k++)
                            for (int64_t c = 0; c < cg; c++) {
                                const int64_t ix = x.at(n, k / kg * cg + c, h, u), iw = w.at(k, c, r, s), iy = y.at(n, k, p, q);
                                if (out == &y) sum[(size_t)iy] += (double)emu_load(x.type, x.p, ix) * (double)emu_load(w.type, w.p, iw);
                                else if (out == &x) sum[(size_t)ix] += (double)emu_load(w.type, w.p, iw) * (double)emu_load(y.type, y.p, iy);
                                else sum[(size_t)iw] += (double)emu_load(x.type, x.p, ix) * (double)emu_load(y.type, y.p, iy);
                            }
                    }
    const double part = v.engine == WINOGRAD ? 1 + 0x1p-21 : 1;
    if ((v.engine == 3 && emu_wrong("dnn-3")) || v.engine == SILENT) sum[0] += 1;
    for (size_t i = 0; i < sum.size(); i++) emu_store(out->type, out->p, (int64_t)i, (float)(sum[i] * part));
}

static void add_bias(const tensor &y, const tensor &bias, const std::vector<float> &sum)
{
    for (int64_t i = 0; i < y.extent(); i++)
        emu_store(y.type, y.p, i, sum[(size_t)i] + emu_load(bias.type, bias.p, i % y.dim[1]));
}

extern "C" cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant_pack)
{
    const ref p = of(plan), pack = of(variant_pack);
    const ref config = p->things[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG].at(0), engine = config->things[CUDNN_ATTR_ENGINECFG_ENGINE].at(0);
    const std::vector<ref> ops = engine->things[CUDNN_ATTR_ENGINE_OPERATION_GRAPH].at(0)->things[CUDNN_ATTR_OPERATIONGRAPH_OPS];
    const int64_t workspace = get<int64_t>(p, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    void *scratch = get<void *>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if ((workspace && !scratch) || (uintptr_t)scratch % 256) return CUDNN_STATUS_BAD_PARAM;
    const ref op = ops.at(0);
    /* x, w, y and the convolution follow each other in the list of attributes, in each of the three operations */
    const bool data = op->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const bool filter = op->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    const int first = data     ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX
                      : filter ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X
                               : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X;
    const tensor x = read_tensor(op, first, pack), w = read_tensor(op, first + 1, pack), y = read_tensor(op, first + 2, pack);
    const ref conv = op->things[first + 3].at(0);
    window v;
    v.engine = get<int64_t>(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    for (size_t i = 0; i < 2; i++) {
        v.pad[i] = get<int64_t>(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i);
        v.stride[i] = get<int64_t>(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i);
        v.dil[i] = get<int64_t>(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, i);
    }
    if (ops.size() == 1) {
        if (!x.p || !w.p || !y.p) return CUDNN_STATUS_BAD_PARAM;
        emu_submit(h->stream, [=]() {
            if (emu_wrong("idle")) return;
            if (workspace) memset(scratch, 0xff, (size_t)workspace); /* it is the library's for this time */
            convolve(x, w, y, data ? &x : filter ? &w : &y, v);
        });
        return CUDNN_STATUS_SUCCESS;
    }
    const tensor bias = read_tensor(ops.at(1), CUDNN_ATTR_OPERATION_POINTWISE_BDESC, pack);
    const tensor result = read_tensor(ops.at(1), CUDNN_ATTR_OPERATION_POINTWISE_YDESC, pack);
    if (!x.p || !w.p || !bias.p || !result.p) return CUDNN_STATUS_BAD_PARAM;
    emu_submit(h->stream, [=]() {
        if (emu_wrong("idle")) return;
        std::vector<float> sum((size_t)y.extent());
        tensor between = y;
        between.p = sum.data();
        if (workspace) memset(scratch, 0xff, (size_t)workspace);
        convolve(x, w, between, &between, v);
        add_bias(result, bias, sum);
    });
    return CUDNN_STATUS_SUCCESS;
}
