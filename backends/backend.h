/* The backend contract: the only door to a device.
 *
 * A backend is one const table. Built-in ones are listed in src/exec/registry.c; others are plug-ins, shared objects named
 * captrain-<name>.so that export `const ct_backend *ct_backend_entry(const ct_services *)` and are found in CAPTRAIN_BACKEND_PATH,
 * without that in the build tree of a program that lies there, and then in the installed directory. Plug-ins reach the core only through ct_services.
 *
 * Rules for implementers: no allocation inside run(); no host synchronisation inside run(); accept() is a pure function of the
 * call's descriptors and the device; an implementation that accepts a call must run it with exactly the scratch it asked for. */
#ifndef CT_BACKENDS_BACKEND_H
#define CT_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "ops/ops.h"

#define CT_BACKEND_ABI 12 /* of all plug-ins, engines (engine.h) as well */

typedef struct ct_device ct_device;   /* opened device; the backend's own struct */
typedef struct ct_stream ct_stream;   /* ordered queue of work on a device */
typedef struct ct_event ct_event;
typedef struct ct_capture ct_capture; /* recorded work that can be replayed */
typedef struct ct_comm ct_comm;       /* one device's end of a group of devices */

typedef struct ct_device_opts {
    int index;          /* device number */
    int threads;        /* CPU: threads of the pool; 0 = all cores allowed by the affinity mask */
    bool exact;         /* only implementations with CT_IMPL_EXACT or better */
    bool deterministic; /* same bits for any number of threads */
    bool reference;     /* only implementations with CT_IMPL_REFERENCE */
    bool eager;         /* steps are never captured: every call is queued anew each time */
    bool tf32;          /* factors of f32 products may be rounded to tf32; otherwise they never are */
    bool strict;        /* products are formed by matrix units where the storage type, or tf32, means them: what forms them otherwise leaves a
                           call to what does not (train.strict) */
    const struct ct_choices *choices; /* dispatch: implementations measured to be fastest, by call (exec/exec.h); NULL: the table's
                                         order decides. Not for backends */
} ct_device_opts;

typedef struct ct_device_info {
    char name[128];         /* "AMD EPYC 9654", "NVIDIA H200" */
    char detail[512];       /* one line: features, kernel sets, library versions */
    char kernels[256];      /* what its sums depend on beside the implementations: two devices that say the same give the same bits; "" if
                               it does not say */
    char precisions[128];   /* one line: what it computes in, and whether with matrix units; "" if it does not say */
    char warning[192];      /* what costs speed here and how to undo it; "" if nothing does */
    int threads;            /* CPU: threads in use */
    uint64_t memory_total;  /* bytes */
    uint64_t memory_free;   /* bytes */
} ct_device_info;

enum ct_impl_flags {
    CT_IMPL_REFERENCE = 1, /* plain loops: the specification */
    CT_IMPL_EXACT = 2,     /* no algorithm that trades accuracy for speed (Winograd, ...) */
    CT_IMPL_DETERMINISTIC = 4, /* same bits for any number of threads */
    CT_IMPL_ROUNDS = 16,   /* transformed operands are rounded to the tensors' 16 bits before they are multiplied: errors of a few of these' eps */
    CT_IMPL_YARDSTICK = 8  /* plain loops on the device, to check others by and for what they refuse: hundreds of times slower. Taken with a
                              warning, never timed while others accept, refused by train.strict */
};

/* The answer of accept(): take it, with so many bytes of scratch; or not, with a reason. */
typedef struct ct_accept {
    bool ok;
    size_t scratch;      /* bytes, CT_DEVICE_ALIGN (256) aligned when run */
    const char *reason;  /* static string when !ok */
} ct_accept;

static inline ct_accept ct_accept_yes(size_t scratch) { ct_accept a = { true, scratch, NULL }; return a; }
static inline ct_accept ct_accept_no(const char *reason) { ct_accept a = { false, 0, reason }; return a; }

typedef struct ct_impl {
    ct_op op;
    const char *name;     /* "cpu.im2col", "ref"; unique per operator */
    unsigned flags;       /* ct_impl_flags */
    ct_accept (*accept)(const ct_device *dev, const ct_call *call);
    ct_status (*run)(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch);
} ct_impl;

/* Implementations that stand together: those of a family of operators, or of one file. */
typedef struct ct_impl_set {
    const ct_impl *impls;
    size_t n;
} ct_impl_set;
#define CT_IMPL_SET(array) { (array), sizeof(array) / sizeof((array)[0]) }

/* How an implementation really computes a call, for the precision receipt. Strings are static or live as long as the device. */
typedef struct ct_receipt {
    const char *math;     /* what factors are rounded to before they are multiplied: "f64", "fp32", "tf32", "bf16", "fp16" */
    const char *sums;     /* what sums are kept in: "f64", "fp32" */
    bool tensor_cores;    /* products are formed by matrix units */
    bool has_cores;       /* the device has matrix units for these operands, used or not */
    bool transforms;      /* products are formed from transformed operands (Winograd, FFT): this call is not exact, whatever CT_IMPL_EXACT
                             says of the implementation */
    char engine[96];      /* the library's own name of what runs: "cuDNN engine 38 (k2=4)"; "" for kernels of ours */
} ct_receipt;

enum { CT_VARIANT_NAME = 96 }; /* bytes of the name of a variant, with its end */

/* What a device tells about itself while it works; NAN or -1 where it does not say. */
typedef struct ct_telemetry {
    char name[128], bus[32];      /* "NVIDIA H200", PCI bus id "00000000:18:00.0" */
    double power, power_limit;    /* W */
    double energy;                /* J since the driver was loaded */
    double busy, memory_busy;     /* share of the last sampling period, 0..1, that a kernel ran, that memory was read or written */
    double temperature;           /* degrees Celsius */
    double clock, clock_max;      /* of the multiprocessors, MHz */
    double memory_clock;          /* MHz */
    double memory_used, memory_total; /* bytes, of all processes */
    char throttle[160];           /* why clocks are held down: "power cap, thermal (software)"; "" if they are not */
} ct_telemetry;

enum { CT_COMM_ID = 128 }; /* bytes that name a group: made by one member, carried to the others by the launcher */

typedef struct ct_comm_memory {
    size_t own, common; /* bytes, multiples of CT_ALIGN */
} ct_comm_memory;

/* Groups of devices. Calls queue work in a stream, in the same order on every member; none waits for the device. Those of an engine
 * (engine.h) work on the host's memory and have no stream: what they are given is there when they are called, and what they make of
 * it is there when finish() has returned. */
typedef struct ct_comm_ops {
    ct_status (*id)(unsigned char id[CT_COMM_ID]);
    /* Joins; returns when all members have, or with CT_EBACKEND when `deadline` seconds are over, naming the members' count. */
    ct_status (*create)(ct_device *dev, const unsigned char id[CT_COMM_ID], int rank, int size, double deadline, ct_comm **out);
    ct_status (*all_reduce_sum)(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type); /* n elements, in place */
    ct_status (*broadcast)(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root);
    ct_status (*check)(ct_comm *c);   /* a failure that has shown since: CT_EBACKEND with its text */
    void (*abort)(ct_comm *c);        /* gives up work that waits for members which are gone */
    void (*destroy)(ct_comm *c);      /* NULL is fine */

    /* ---- optional: NULL where sums move by themselves, in streams of the device ---- */

    /* Moves what was queued a little further, for nothing moves between calls, and tells whether all of it is done. Cheap, never waits.
     * A failure names the member and their count, as finish()'s does. */
    ct_status (*poll)(ct_comm *c, bool *done);
    /* Waits until all that was queued is done; CT_EBACKEND when that takes more than `deadline` seconds or has failed. poll and finish
     * are both there or neither. */
    ct_status (*finish)(ct_comm *c, double deadline);
    /* Gives every member the `bytes` of each, in the order of ranks: all [size * bytes]. Waits, as finish() does, behind what is queued. */
    ct_status (*gather)(ct_comm *c, const void *mine, size_t bytes, void *all, double deadline);
    /* all_reduce_sum by a fixed tree, for a group whose size is a power of two: members 2k and 2k+1 are added, then pairs of these sums,
     * ... Bits depend on nothing else. May be there with poll and finish alone. NULL: sums have an order of their own. */
    ct_status (*tree_sum)(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type);
    /* all_reduce_sum, divided by the number of members; f32 and f64. NULL: whoever wants it divides himself, in the host's memory. */
    ct_status (*all_reduce_mean)(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type);
    /* Whether there can be groups here: CT_EBACKEND with the reason, such as a library that is missing. Begins nothing. NULL: yes. */
    ct_status (*ready)(void);
    /* Memory of the host, cleared: *mine, m->own bytes, at the same place for every member, in which sums take least time, and *common,
     * m->common bytes, which are the same memory for all. With none of both, short sums elsewhere take less time. *mine NULL where this
     * group has no such thing, which one member logs with the reason. All call it, once, with the same numbers, and it waits as gather()
     * does. It stays until release(*mine), whatever becomes of the group. Both or neither. */
    ct_status (*memory)(ct_comm *c, const ct_comm_memory *m, double deadline, void **mine, void **common);
    void (*release)(void *mine);
} ct_comm_ops;

typedef struct ct_backend {
    uint32_t abi;   /* CT_BACKEND_ABI */
    uint32_t size;  /* sizeof(ct_backend) */
    const char *name;

    /* Identity. Number of devices; 0 with a recorded message when there is none and why. */
    int (*device_count)(void);
    ct_status (*open)(const ct_device_opts *opts, ct_device **out);
    void (*close)(ct_device *dev);                       /* NULL is fine */
    ct_status (*info)(ct_device *dev, ct_device_info *out);

    /* Memory: CT_DEVICE_ALIGN aligned. alloc does not clear. Copies are ordered in the stream; host memory must stay valid until it is synchronised. */
    ct_status (*alloc)(ct_device *dev, size_t bytes, const char *what, void **out);
    void (*free)(ct_device *dev, void *p);
    ct_status (*clear)(ct_device *dev, ct_stream *s, void *dst, size_t bytes);
    ct_status (*upload)(ct_device *dev, ct_stream *s, void *dst, const void *host, size_t bytes);
    ct_status (*download)(ct_device *dev, ct_stream *s, void *host, const void *src, size_t bytes);
    ct_status (*copy)(ct_device *dev, ct_stream *s, void *dst, const void *src, size_t bytes);

    /* Streams and events. */
    ct_status (*stream_create)(ct_device *dev, ct_stream **out);
    void (*stream_destroy)(ct_device *dev, ct_stream *s);
    ct_status (*stream_sync)(ct_device *dev, ct_stream *s);
    ct_status (*event_create)(ct_device *dev, ct_event **out);
    void (*event_destroy)(ct_device *dev, ct_event *e);
    ct_status (*event_record)(ct_device *dev, ct_event *e, ct_stream *s);
    ct_status (*event_wait)(ct_device *dev, ct_stream *s, ct_event *e);
    /* Whether what the event was recorded behind is done. An error of that work is one here: what it was to write is not there. */
    ct_status (*event_done)(ct_device *dev, ct_event *e, bool *done);

    /* Capture and replay (optional: all four NULL means the executor walks the plan each step). */
    ct_status (*capture_begin)(ct_device *dev, ct_stream *s);
    ct_status (*capture_end)(ct_device *dev, ct_stream *s, ct_capture **out);
    ct_status (*capture_replay)(ct_device *dev, ct_stream *s, ct_capture *c);
    void (*capture_destroy)(ct_device *dev, ct_capture *c);

    /* ---- optional from here to the implementations: NULL where there is nothing to do or to tell ---- */

    /* Host memory that copies to and from the device need not stage. NULL: any memory will do. */
    ct_status (*host_alloc)(ct_device *dev, size_t bytes, const char *what, void **out);
    void (*host_free)(ct_device *dev, void *p);
    /* Time between two recorded events that are done. */
    ct_status (*event_seconds)(ct_device *dev, ct_event *from, ct_event *to, double *seconds);
    /* How `impl`, which accepted it, computes a call. NULL: references, and others whose
     * first floating operand is f64, in f64, all else in fp32; without matrix units. */
    ct_status (*receipt)(const ct_device *dev, const ct_impl *impl, const ct_call *call, ct_receipt *out);
    /* Ways in which `impl` can compute a call, best guess first: names into names[max], their number returned (0: one way only).
     * prefer() makes one of them what accept() and run() of this call mean from then on; NULL the backend's own choice. A name that is
     * unknown or cannot run here: CT_EUNSUPPORTED. */
    int (*variants)(ct_device *dev, const ct_impl *impl, const ct_call *call, char names[][CT_VARIANT_NAME], int max);
    ct_status (*prefer)(ct_device *dev, const ct_impl *impl, const ct_call *call, const char *variant);
    /* State of device number `index`, which need not be open. */
    ct_status (*telemetry)(int index, ct_telemetry *out);
    /* Who holds the memory of device number `index`: "2.1 GB by process 4711 (python3), ..."; "" if that cannot be known. */
    void (*memory_holders)(int index, char *buf, size_t size);
    const ct_comm_ops *comm; /* NULL: this backend has groups of one only, unless an engine's */
    bool tf32;        /* can round the factors of f32 products to TF32 (ct_device_opts.tf32) */
    bool host_memory; /* the device's memory is the host's, and its calls are done when they return: engines can work on it */
    /* What the number of channels that a convolution reads should be a multiple of, on device number opts->index (which need not be
     * open) and in storage type `type`: the images' channels are padded to that. NULL: 1. */
    int64_t (*channel_multiple)(const ct_device_opts *opts, ct_dtype type);
    /* What device number `index` is in this machine, in words that are the same for every process that sees it, whatever number it has
     * there: "0000:18:00.0". NULL: devices are not told apart, and any number of processes can share one. */
    void (*device_place)(int index, char *buf, size_t size);

    /* Implementations, in sets; neither sets nor what is in them need follow the catalogue. Of several of one operator
     * the best is in the earliest set, and within a set stands first; the reference (if any) is the last. ct_impl_next
     * (exec/exec.h) walks them. */
    const ct_impl_set *const *sets;
    size_t nsets;
} ct_backend;

/* What a plug-in may call. */
typedef struct ct_services {
    uint32_t abi, size;
    ct_status (*fail)(ct_status code, const char *fmt, ...);
    void (*log)(int level, const char *fmt, ...);
    const char *(*env)(int which); /* ct_env */
    void *(*alloc)(size_t bytes, const char *what);
    void (*free)(void *p);
} ct_services;

typedef const ct_backend *(*ct_backend_entry_fn)(const ct_services *services);

/* The built-in CPU backend (backends/cpu/backend.c). */
extern const ct_backend ct_backend_cpu;

#endif
