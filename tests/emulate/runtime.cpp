/* The emulated CUDA runtime: memory, streams, graphs, and the fibers kernels run on. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/dtype.h"
#include "emulate.h"

emu_dim threadIdx, blockIdx, blockDim, gridDim;

/* ---- fibers ---- */

enum { STACK = 64 << 10, MAX_THREADS = 1024 };
enum fiber_state { READY, AT_BLOCK, AT_WARP, DONE };

static void die(const char *why)
{
    fprintf(stderr, "emulated kernel: %s\n", why);
    abort();
}

/* A fiber lives on: when its thread of one block is done, it waits to be that thread of the next. Its first start goes through
 * swapcontext, every other switch through _setjmp and _longjmp, which leave the signal mask alone and so need no system call. */
struct fiber {
    jmp_buf at;
    char *stack;
    fiber_state state;
    uint64_t slot;
};
static fiber fibers[MAX_THREADS];
static jmp_buf scheduler;
static unsigned running, count;
static const std::function<void()> *kernel;

static void wait_as(fiber_state state)
{
    unsigned me = running;
    fibers[me].state = state;
    if (_setjmp(fibers[me].at) == 0) _longjmp(scheduler, 1);
}

static void enter()
{
    for (;;) {
        (*kernel)();
        wait_as(DONE);
    }
}

/* Lets fiber i run until it waits. */
static void resume(unsigned i)
{
    static ucontext_t context, unused;
    fiber *f = &fibers[i];
    running = i;
    threadIdx.x = i;
    if (_setjmp(scheduler) != 0) return;
    if (f->stack) _longjmp(f->at, 1);
    f->stack = (char *)malloc(STACK);
    if (!f->stack) die("no memory for a stack");
    getcontext(&context);
    context.uc_stack.ss_sp = f->stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = NULL;
    makecontext(&context, enter, 0);
    swapcontext(&unused, &context);
}

void __syncthreads() { wait_as(AT_BLOCK); }
void __syncwarp(unsigned) { wait_as(AT_WARP); }
int emu_lane() { return (int)(running % 32); }

uint64_t emu_exchange(uint64_t mine, int from)
{
    unsigned me = running;
    fibers[me].slot = mine;
    wait_as(AT_WARP);
    uint64_t got = fibers[me / 32 * 32 + (unsigned)from].slot;
    wait_as(AT_WARP); /* nobody gives anew before all have taken */
    return got;
}

/* Element k (0..15) of row or column i of a factor, whose words `w` of two elements each the warp's lanes hold: lane 4i + q those of 2q and 2q+8. */
static float fragment(const uint32_t (*lanes)[6], int i, int k, int low, int high)
{
    const uint32_t word = lanes[4 * i + k % 8 / 2][k < 8 ? low : high];
    return __uint_as_float(k % 2 ? word & 0xffff0000u : word << 16);
}

void emu_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    static uint32_t all[1024][6];
    memcpy(all[running], a, 4 * sizeof *a);
    memcpy(all[running] + 4, b, 2 * sizeof *b);
    wait_as(AT_WARP);
    const uint32_t(*lanes)[6] = all + running / 32 * 32;
    const int g = emu_lane() / 4, q = emu_lane() % 4;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++)
            d[i] += fragment(lanes, g, k, i / 2, i / 2 + 2) * fragment(lanes, 2 * q + i % 2, k, 4, 5);
    wait_as(AT_WARP); /* nobody gives anew before all have taken */
}

/* Warps whose 32 fibers all wait go on; then the block, if all of it waits. False when every fiber is done. */
static bool release()
{
    bool any = false, left = false;
    for (unsigned w = 0; w < count; w += 32) {
        unsigned end = w + 32 < count ? w + 32 : count, at = 0, done = 0;
        for (unsigned i = w; i < end; i++) {
            at += fibers[i].state == AT_WARP;
            done += fibers[i].state == DONE;
        }
        left |= done < end - w;
        if (at == 0) continue;
        if (at + done != end - w) continue;
        if (done) die("a thread has left while its warp exchanges");
        for (unsigned i = w; i < end; i++) fibers[i].state = READY;
        any = true;
    }
    if (any || !left) return left;
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        if (fibers[i].state == AT_WARP) die("threads of one warp wait at different barriers");
        done += fibers[i].state == DONE;
    }
    if (done) die("a thread has left while its block waits at __syncthreads");
    for (unsigned i = 0; i < count; i++) fibers[i].state = READY;
    return true;
}

static void run_block()
{
    for (unsigned i = 0; i < count; i++) fibers[i].state = READY;
    do
        for (unsigned i = count; i-- > 0;)
            if (fibers[i].state == READY) resume(i);
    while (release());
}

/* EMULATE_WRONG, so that tests can see whether faults are noticed. kernels: none runs its last block; graphs: a captured piece of work
 * leaves its last call out; events: what they were recorded behind has failed; lt, dnn: the library takes nothing; dnn-list: its first
 * list of heuristics fails; lt-4, dnn-3: their algorithm or engine of this number computes something else; idle: neither kernels nor libraries compute anything, so that what is asked of a card that takes milliseconds
 * for it can be asked here, for all but its results. */
bool emu_wrong(const char *what)
{
    const char *given = getenv("EMULATE_WRONG");
    return given && strcmp(given, what) == 0;
}

static void run_kernel(dim3 grid, unsigned threads, const std::function<void()> &body)
{
    const bool all = !emu_wrong("kernels");
    if (emu_wrong("idle")) return;
    if (threads > MAX_THREADS) die("more than 1024 threads in a block");
    kernel = &body;
    count = threads;
    blockDim = { threads, 1, 1 };
    gridDim = { grid.x, grid.y, grid.z };
    const bool falling = getenv("EMULATE_FALLING") != NULL; /* which block is the last to be done is chance on a card */
    for (unsigned j = 0; j < grid.y; j++)
        for (unsigned i = 0; i < grid.x; i++) {
            const unsigned x = falling ? grid.x - 1 - i : i, y = falling ? grid.y - 1 - j : j;
            blockIdx = { x, y, 0 };
            if (all || x + 1 < grid.x || y + 1 < grid.y) run_block();
        }
}

/* ---- streams, graphs: a capture is a list of what was to be run ----
 *
 * Streams run at once, unless EMULATE_LATE is set: then all that is queued is put off for as long as CUDA's rules allow, until somebody
 * waits for it. So a host that writes into memory which a copy still has to read, or a stream that does not wait for another, is
 * found by its wrong results. A piece of work that has to wait for another process says so, and keeps its stream where it is.
 *
 * A captured stream takes those along that wait for an event of it. Each has a lane in what is recorded, which becomes a stream again when
 * that is launched. */

typedef std::function<bool()> piece; /* false: not yet */

/* What is captured: work, and where a lane records or waits for record `key`. */
struct emu_item {
    enum { WORK, RECORD, WAIT } what;
    int lane, key;
    piece work;
};
struct emu_recording {
    std::vector<emu_item> items;
    std::vector<emu_stream *> lane; /* [0]: which the capture began with */
    int records;
    bool open, spoilt; /* still going on; of no use */
};
struct emu_stream {
    std::shared_ptr<emu_recording> capture;
    int lane;
    size_t captured;         /* pieces of work */
    bool loose;              /* lane 0 does not wait for all of them */
    std::deque<piece> late;  /* not run yet */
};
/* One record of an event: done when its stream has come to it. */
struct emu_mark {
    bool done;
    double at; /* seconds */
    emu_stream *stream;
};
struct emu_event {
    std::shared_ptr<emu_mark> mark; /* the last record; empty: none */
    int asked;                      /* since it was recorded */
    std::shared_ptr<emu_recording> capture; /* that it was recorded in; then: */
    emu_stream *stream;
    int key;
    size_t captured; /* of the stream at that time */
};
struct emu_graph { std::shared_ptr<emu_recording> work; };
struct emu_graph_exec {
    std::shared_ptr<emu_recording> work;
    std::vector<emu_stream *> side; /* lanes behind the first */
};

static const bool late = getenv("EMULATE_LATE") != NULL;
static std::vector<emu_stream *> streams;
static std::mutex streams_lock;

static double seconds()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the oldest piece of a stream's work; false where that cannot be run yet. */
static bool advance(emu_stream *s)
{
    const piece work = s->late.front();
    if (!work()) return false;
    s->late.pop_front();
    return true;
}
static std::vector<emu_stream *> all_streams()
{
    std::lock_guard<std::mutex> hold(streams_lock);
    return streams;
}
static void drain(emu_stream *s)
{
    const struct timespec pause = { 0, 100000 };
    while (!s->late.empty()) {
        if (advance(s)) continue;
        std::vector<emu_stream *> all = all_streams(); /* the others of a card go on */
        for (size_t i = 0; i < all.size(); i++)
            while (all[i] != s && !all[i]->late.empty() && advance(all[i])) continue;
        nanosleep(&pause, NULL);
    }
}
static void drain_all()
{
    std::vector<emu_stream *> all = all_streams();
    for (size_t i = 0; i < all.size(); i++) drain(all[i]);
}
/* Lets the stream of a record come to it, as far as it gets. */
static bool reach(const std::shared_ptr<emu_mark> &mark)
{
    while (!mark->done) {
        if (mark->stream->late.empty()) die("an event that no stream will come to");
        if (!advance(mark->stream)) return false;
    }
    return true;
}

static void submit(emu_stream *s, const piece &work)
{
    if (s && s->capture) {
        s->capture->items.push_back(emu_item{ emu_item::WORK, s->lane, 0, work });
        s->captured++;
        s->loose = true;
    } else if (s && (late || !s->late.empty() || !work())) {
        s->late.push_back(work);
    } else if (!s) {
        while (!work()) continue;
    }
}

void emu_submit(cudaStream_t s, std::function<void()> work)
{
    submit(s, [=]() { return work(), true; });
}

/* For libraries that stand in for those which come as files of their own: step(arg) until it gives 1; drop(arg) when it is needed no
 * more. Gives whether it was recorded. */
extern "C" int emu_enqueue(cudaStream_t s, int (*step)(void *), void (*drop)(void *), void *arg)
{
    const bool recorded = s && s->capture;
    std::shared_ptr<void> held(arg, drop);
    submit(s, [=]() { return step(held.get()) != 0; });
    return recorded;
}

static std::shared_ptr<emu_mark> record(emu_stream *s)
{
    auto mark = std::make_shared<emu_mark>(emu_mark{ false, 0, s });
    submit(s, [=]() {
        mark->at = seconds();
        return mark->done = true;
    });
    return mark;
}

static emu_stream *new_stream()
{
    emu_stream *s = new emu_stream();
    std::lock_guard<std::mutex> hold(streams_lock);
    streams.push_back(s);
    return s;
}
static void end_stream(emu_stream *s)
{
    std::lock_guard<std::mutex> hold(streams_lock);
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i] == s) streams.erase(streams.begin() + (long)i--);
    delete s;
}

void emu_launch(cudaStream_t s, dim3 grid, unsigned threads, std::function<void()> body)
{
    if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || threads == 0) die("a grid that CUDA refuses");
    emu_submit(s, [=]() { run_kernel(grid, threads, body); });
}

/* ---- errors ----
 *
 * As in the real runtime: a call that fails leaves its error with the host thread until cudaGetLastError takes it, "not ready" too, and
 * whoever looks for an error of his own launch finds that one. While a thread captures, calls that would wait for the card or
 * ask after it are refused and spoil the capture. */

static thread_local cudaError_t last = cudaSuccess;
static thread_local emu_stream *capturing;

static cudaError_t seen(cudaError_t e)
{
    if (e != cudaSuccess) last = e;
    return e;
}
static bool refused()
{
    if (capturing) capturing->capture->spoilt = true;
    return capturing != NULL;
}

extern "C" {

/* 4 GiB; EMULATE_MEMORY: as many GiB, for plans of what no test could run. */
static const size_t memory = (size_t)(getenv("EMULATE_MEMORY") ? atoi(getenv("EMULATE_MEMORY")) : 4) << 30;

/* EMULATE_CARDS: how many there are, of which CUDA_VISIBLE_DEVICES shows some, in its own order. */
static std::vector<int> visible_cards()
{
    const int there = getenv("EMULATE_CARDS") ? atoi(getenv("EMULATE_CARDS")) : 1;
    const char *shown = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> all;
    for (int i = 0; i < there && !shown; i++) all.push_back(i);
    while (shown && *shown >= '0' && *shown <= '9') {
        char *end;
        const int card = (int)strtol(shown, &end, 10);
        if (card >= there) break; /* what follows one that is not there is hidden */
        all.push_back(card);
        shown = *end == ',' ? end + 1 : end;
    }
    return all;
}
static const std::vector<int> cards = visible_cards();

cudaError_t cudaGetDeviceCount(int *n) { return *n = (int)cards.size(), cards.empty() ? seen(cudaErrorNoDevice) : cudaSuccess; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int)
{
    memset(p, 0, sizeof *p);
    strcpy(p->name, "emulated card");
    p->totalGlobalMem = memory;
    const int capability = getenv("EMULATE_CAPABILITY") ? atoi(getenv("EMULATE_CAPABILITY")) : 90; /* of an older card */
    p->major = capability / 10;
    p->minor = capability % 10;
    p->multiProcessorCount = getenv("EMULATE_SMS") ? atoi(getenv("EMULATE_SMS")) : 2; /* of a larger card */
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int card)
{
    if (card < 0 || card >= (int)cards.size()) return seen(cudaErrorInvalidValue);
    return snprintf(bus, (size_t)size, "0000:%02x:00.0", cards[(size_t)card]), cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) { return *available = *total = memory, cudaSuccess; }
/* At a multiple of 256, as promised, and of no more: what needs more must not find it by chance. */
enum { PROMISED = 256 };
cudaError_t cudaMalloc(void **p, size_t bytes)
{
    if (refused()) return seen(cudaErrorStreamCaptureUnsupported);
    char *room = bytes > memory ? NULL : (char *)aligned_alloc(2 * PROMISED, (bytes + 4 * PROMISED - 1) / (2 * PROMISED) * (2 * PROMISED));
    *p = room ? room + PROMISED : NULL;
    return seen(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *p)
{
    if (refused()) return seen(cudaErrorStreamCaptureUnsupported);
    drain_all();
    if (p) free((char *)p - PROMISED);
    return cudaSuccess;
}

/* Pinned blocks: only of these is it left open when a copy reads or writes them. */
static std::map<const char *, size_t> pinned;
static std::mutex pinned_lock;
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    *p = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    if (!*p) return seen(cudaErrorMemoryAllocation);
    std::lock_guard<std::mutex> hold(pinned_lock);
    pinned[(const char *)*p] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void *p)
{
    drain_all();
    std::lock_guard<std::mutex> hold(pinned_lock);
    if (!pinned.erase((const char *)p)) return seen(cudaErrorInvalidValue);
    return free(p), cudaSuccess;
}
static bool is_pinned(const void *p)
{
    std::lock_guard<std::mutex> hold(pinned_lock);
    auto next = pinned.upper_bound((const char *)p);
    return next != pinned.begin() && (const char *)p < std::prev(next)->first + std::prev(next)->second;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s)
{
    if (kind == cudaMemcpyHostToDevice && late && !is_pinned(src)) { /* staged before the call returns */
        const char *from = (const char *)src;
        auto staged = std::make_shared<std::vector<char>>(from, from + bytes);
        emu_submit(s, [=]() { memmove(dst, staged->data(), bytes); });
        return cudaSuccess;
    }
    emu_submit(s, [=]() { memmove(dst, src, bytes); });
    if (kind == cudaMemcpyDeviceToHost && !s->capture && !is_pinned(dst)) drain(s);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t s)
{
    emu_submit(s, [=]() { memset(dst, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return *s = new_stream(), cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t s) { return drain(s), end_stream(s), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (refused()) return seen(cudaErrorStreamCaptureUnsupported);
    drain(s);
    return cudaSuccess;
}
/* An event that was captured takes the stream along, and is of no use once the capture has ended; one that was not has no place in it. */
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    if (e->capture && !e->capture->open) return seen(cudaErrorCapturedEvent);
    if (!e->capture && s->capture) return s->capture->spoilt = true, seen(cudaErrorStreamCaptureIsolation);
    if (!e->capture) {
        std::shared_ptr<emu_mark> mark = e->mark;
        if (mark) submit(s, [=]() { return reach(mark); });
        return cudaSuccess;
    }
    emu_recording *r = e->capture.get();
    if (!s->capture) {
        s->capture = e->capture;
        s->lane = (int)r->lane.size();
        s->captured = 0;
        s->loose = true; /* until it is waited for itself */
        r->lane.push_back(s);
    }
    r->items.push_back(emu_item{ emu_item::WAIT, s->lane, e->key, piece() });
    if (s->lane == 0 && e->captured == e->stream->captured) e->stream->loose = false;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return *e = new emu_event(), cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    e->asked = 0;
    e->capture = s->capture;
    if (!s->capture) return e->mark = record(s), cudaSuccess;
    e->stream = s;
    e->captured = s->captured;
    e->key = s->capture->records++;
    s->capture->items.push_back(emu_item{ emu_item::RECORD, s->lane, e->key, piece() });
    return cudaSuccess;
}
/* A host that only asks gets its answer in the end: time passes on a card. */
cudaError_t cudaEventQuery(cudaEvent_t e)
{
    if (refused()) return seen(cudaErrorStreamCaptureUnsupported);
    if (e->capture) return seen(cudaErrorCapturedEvent);
    if (emu_wrong("events")) return seen(cudaErrorLaunchFailure);
    if (!e->mark || e->mark->done) return cudaSuccess;
    if (late && ++e->asked < 3) return seen(cudaErrorNotReady);
    return reach(e->mark) ? cudaSuccess : seen(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from->mark || !to->mark) return seen(cudaErrorInvalidValue);
    if (!from->mark->done || !to->mark->done) return seen(cudaErrorNotReady);
    *ms = (float)(1e3 * (to->mark->at - from->mark->at));
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode)
{
    if (s->capture) return seen(cudaErrorInvalidValue);
    s->capture = std::make_shared<emu_recording>();
    s->capture->open = true;
    s->capture->lane.push_back(s);
    s->lane = 0;
    s->captured = 0;
    capturing = s;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    std::shared_ptr<emu_recording> r = s->capture;
    bool joined = true;
    *graph = NULL;
    if (!r || s->lane != 0) return seen(cudaErrorInvalidValue);
    for (size_t i = 0; i < r->lane.size(); i++) {
        joined &= i == 0 || !r->lane[i]->loose;
        r->lane[i]->capture.reset();
    }
    r->open = false;
    capturing = NULL;
    if (r->spoilt) return seen(cudaErrorStreamCaptureInvalidated);
    if (!joined) return seen(cudaErrorStreamCaptureUnjoined);
    *graph = new emu_graph{ r };
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    size_t calls = 0;
    *exec = new emu_graph_exec{ graph->work, {} };
    for (size_t i = 1; i < graph->work->lane.size(); i++) (*exec)->side.push_back(new_stream());
    for (const emu_item &k : graph->work->items) calls += k.what == emu_item::WORK;
    if (getenv("EMULATE_SHOW")) fprintf(stderr, "emulated card: a graph of %zu calls\n", calls);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    const std::vector<emu_item> &items = exec->work->items;
    std::vector<std::shared_ptr<emu_mark>> mark((size_t)exec->work->records);
    size_t last = items.size();
    for (size_t i = 0; i < items.size(); i++)
        if (emu_wrong("graphs") && items[i].what == emu_item::WORK) last = i; /* which is left out */
    for (size_t i = 0; i < items.size(); i++) {
        const emu_item &k = items[i];
        emu_stream *lane = k.lane == 0 ? s : exec->side[(size_t)k.lane - 1];
        if (k.what == emu_item::RECORD) mark[(size_t)k.key] = record(lane);
        else if (k.what == emu_item::WAIT) {
            std::shared_ptr<emu_mark> m = mark[(size_t)k.key];
            submit(lane, [=]() { return reach(m); });
        } else if (i != last || !emu_wrong("graphs")) {
            submit(lane, k.work);
        }
    }
    return cudaSuccess;
}
/* What is still running ends by itself. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    for (emu_stream *s : exec->side)
        if (s->late.empty()) end_stream(s);
    return delete exec, cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaPeekAtLastError(void) { return last; }
cudaError_t cudaGetLastError(void)
{
    const cudaError_t e = last;
    last = cudaSuccess;
    return e;
}
const char *cudaGetErrorString(cudaError_t e)
{
    switch (e) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "an emulated error";
    }
}
const char *cudaGetErrorName(cudaError_t) { return "cudaErrorEmulated"; }
}

/* ---- storage types: cudaDataType ---- */

enum { IS_F16 = 2, IS_BF16 = 14 };

float emu_load(int type, const void *p, int64_t i)
{
    if (type == IS_F16) return emu_half_to_float(((const uint16_t *)p)[i]);
    return type == IS_BF16 ? __uint_as_float((unsigned)((const uint16_t *)p)[i] << 16) : ((const float *)p)[i];
}

void emu_store(int type, void *p, int64_t i, float v)
{
    if (type == IS_F16) ((uint16_t *)p)[i] = emu_float_to_half(v);
    else if (type == IS_BF16) ((uint16_t *)p)[i] = ct_f32_to_bf16(v);
    else ((float *)p)[i] = v;
}

/* ---- IEEE binary16 ---- */

float emu_half_to_float(uint16_t h)
{
    unsigned sign = (unsigned)(h >> 15) << 31, exponent = h >> 10 & 31, mantissa = h & 1023u;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
    float v = (float)mantissa * 0x1p-24f;
    return sign ? -v : v;
}

uint16_t emu_float_to_half(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof u);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) return sign | 0x7e00;
    if (u >= 0x477ff000u) return sign | 0x7c00; /* rounds beyond 65504 */
    if (u < 0x38800000u) {                      /* subnormal: a multiple of 2^-24 */
        float v;
        memcpy(&v, &u, sizeof v);
        v = v * 0x1p24f + 0x1p23f; /* rounds to nearest even at the last place of 2^23 */
        memcpy(&u, &v, sizeof u);
        return (uint16_t)(sign | (u & 0x7fffffu));
    }
    u += 0xfffu + (u >> 13 & 1);
    return (uint16_t)(sign | (u - 0x38000000u) >> 13);
}
