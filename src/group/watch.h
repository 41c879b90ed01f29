/* Who is behind. The processes of a run tell each other some twenty times a second where they are, and whoever waits
 * for the others hears from here whether to wait on.
 *
 * A position goes as a datagram of UDP, by a thread of its own, so that it comes out of a process whose main thread
 * hangs, and stops coming out of one that is stopped, dead or cut off. A process is behind that
 *   - has not been heard of for the deadline, or
 *   - is in a step, or loads a batch of one, while another has waited for it longer than the call's deadline.
 * What takes its time alone (setting up, packing a cache, measuring, scoring, saving, the report) is waited for as
 * long as it is heard of, up to an hour. Time in which this process itself was stopped does not count. Where
 * datagrams do not get through, deadlines of calls are all there is. */
#ifndef CT_GROUP_WATCH_H
#define CT_GROUP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/engine.h"
#include "base/crash.h"

/* Seconds that processes wait for each other where one of them may be reading data or writing files. */
#define CT_PATIENCE 3600.0

typedef struct ct_watch ct_watch;

/* Where others reach a process; all of them tell it each other. */
typedef struct ct_watch_at {
    uint64_t key;         /* of the run: that of process 0 counts */
    uint32_t address[8];  /* IPv4, as it is sent; 0: none */
    uint16_t port;        /* as it is sent; 0: it has none, and is not heard of */
} ct_watch_at;

/* Begins to listen. mine: to be told the others. CT_ENOMEM alone: without a network *mine has no port. */
ct_status ct_watch_open(int rank, int size, double deadline, ct_watch_at *mine, ct_watch **out);
/* Begins to tell: all, names of hosts [size][width] (kept by the caller). */
ct_status ct_watch_begin(ct_watch *w, const ct_watch_at *all, const char *host, size_t width);
/* The judge, for an engine; it stays with the watch. */
const ct_patience *ct_watch_patience(const ct_watch *w);
/* Tells the others that the run is over for them, too, with this failure; those who wait end with it at once. */
void ct_watch_over(ct_watch *w, ct_status st, const char *message);
/* True when the judge ended the waiting. */
bool ct_watch_broke(const ct_watch *w);
void ct_watch_close(ct_watch *w); /* NULL is fine */

/* ---- what a datagram says ---- */

enum { CT_BEAT_WORDS = 400 };

typedef struct ct_beat {
    uint64_t key;
    uint32_t magic, from, to;
    uint8_t at;       /* ct_activity */
    uint8_t waiting;  /* for the others */
    uint8_t over;     /* ct_status; not 0: text says why */
    uint8_t spare;
    int64_t step;
    char text[CT_BEAT_WORDS]; /* ends with 0: the operator, or why it is over */
} ct_beat;

/* A datagram of `bytes` for process `to` of `size` in run `key`; false for anything else. */
bool ct_beat_read(const void *data, size_t bytes, uint64_t key, int to, int size, ct_beat *out);

#endif
