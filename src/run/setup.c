/* Setting a run up: configuration, directory, data, programs, first weights. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "measure/tune.h"
#include "program/spec.h"
#include "run/run.h"
#include "session/memory.h"
#include "weights/init.h"

ct_status ct_run_configure(ct_run *r, const ct_train_opts *o)
{
    /* A resumed run without a configuration takes the one it was started with. */
    char *kept = NULL;
    ct_status st = CT_OK;
    if (o->resume && !o->config && o->out) {
        if (!(kept = ct_path_join(o->out, "config.yaml"))) return CT_ENOMEM;
        if (!ct_path_exists(kept)) {
            ct_free(kept);
            kept = NULL;
        } else if (!ct_path_is_file(kept)) {
            CT_GOTO(st, ct_fail(CT_EFORMAT, "%s: not a regular file", kept));
        }
    }
    CT_GOTO(st, ct_config_load(kept ? kept : o->config, o->sets, o->nsets, &r->cfg));
    if (o->common.backend) CT_GOTO(st, ct_config_set(r->cfg, "train.backend", o->common.backend, "--backend"));
    if (o->common.threads > 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", o->common.threads);
        CT_GOTO(st, ct_config_set(r->cfg, "train.threads", number, "--threads"));
    }
    if (o->tune) CT_GOTO(st, ct_config_set(r->cfg, "train.tune", o->tune, "--tune"));
    if (o->no_graph) CT_GOTO(st, ct_config_set(r->cfg, "train.graph", "false", "--no-graph"));
    CT_GOTO(st, ct_metric_settle(r->cfg));
fail:
    ct_free(kept);
    return st;
}

/* The files that make a directory a run's. */
static const char *occupied_by(const char *dir)
{
    static const char *const sign[] = { "config.yaml", "metrics.jsonl", "result.json", "checkpoints" };
    for (size_t i = 0; i < sizeof sign / sizeof sign[0]; i++) {
        char *path = ct_path_join(dir, sign[i]);
        bool there = path && ct_path_exists(path);
        ct_free(path);
        if (there) return sign[i];
    }
    return NULL;
}

/* runs/<date>-<name>, with a number behind it if that exists. */
static char *default_directory(const char *name)
{
    char date[32];
    time_t t = time(NULL);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm);
    for (int k = 1; k < 1000; k++) {
        char *dir = k == 1 ? ct_asprintf("runs/%s-%s", date, name) : ct_asprintf("runs/%s-%s-%d", date, name, k);
        if (!dir || !ct_path_exists(dir)) return dir;
        ct_free(dir);
    }
    ct_fail(CT_EIO, "runs/%s-%s: 1000 directories of this name", date, name);
    return NULL;
}

static ct_status open_log(ct_run *r, bool append)
{
    char *path = ct_path_join(r->out, "run.log");
    if (!path) return CT_ENOMEM;
    int fd;
    ct_status st = ct_file_open_log(path, O_WRONLY, &fd);
    if (st != CT_OK) {
        ct_free(path);
        return st;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        st = errno == EWOULDBLOCK ? ct_fail(CT_EIO, "%s: another captrain is working in this run directory", r->out)
                                  : ct_fail(CT_EIO, "%s: cannot be locked: %s", path, strerror(errno));
        close(fd);
    } else if ((!append && ftruncate(fd, 0) != 0) || !(r->log = fdopen(fd, "a"))) {
        st = ct_fail(CT_EIO, "%s: %s", path, strerror(errno));
        close(fd);
    }
    ct_free(path);
    if (st == CT_OK) {
        setvbuf(r->log, NULL, _IOLBF, 0);
        ct_crash_log(fileno(r->log));
        ct_log_set_file(r->log);
    }
    return st;
}

ct_status ct_run_directory(ct_run *r, const ct_train_opts *o)
{
    if (o->out && strlen(o->out) > sizeof((ct_train_result *)0)->out - 64)
        return ct_fail(CT_EINVAL, "--out: a path of %zu bytes is too long", strlen(o->out));
    if (!o->out && strchr(r->cfg->name, '/'))
        return ct_fail(CT_ECONFIG, "name: must not have a '/', it becomes part of the run directory's name (got '%s')",
                       r->cfg->name);
    if (!o->out && o->resume) return ct_fail(CT_ECONFIG, "--resume needs the run directory: give --out DIR");
    r->out = o->out ? ct_strdup(o->out, "run directory") : default_directory(r->cfg->name);
    if (!r->out) return o->out ? CT_ENOMEM : CT_EIO;
    while (strlen(r->out) > 1 && r->out[strlen(r->out) - 1] == '/') r->out[strlen(r->out) - 1] = '\0';
    const char *sign = occupied_by(r->out);
    if (sign && !o->resume)
        return ct_fail(CT_ECONFIG, "%s holds a run already (%s): continue it with --resume, or give another --out",
                       r->out, sign);
    if (!(r->checkpoints = ct_path_join(r->out, "checkpoints"))) return CT_ENOMEM;
    /* Nothing that makes the directory a run's is written before data and model are known to be good: who mistypes
     * data.train can say the same --out again. */
    CT_TRY(ct_mkdir_p(r->out));
    r->dir = open(r->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->dir < 0 && errno != EACCES)
        return ct_fail(CT_EIO, "%s: cannot open the directory: %s", r->out, strerror(errno));
    CT_TRY(open_log(r, o->resume));
    return ct_checkpoint_sweep(r->checkpoints);
}

ct_status ct_run_directory_there(const ct_run *r)
{
    struct stat now, then;
    if (r->dir < 0) return CT_OK;
    if (fstat(r->dir, &then) == 0 && stat(r->out, &now) == 0 && now.st_dev == then.st_dev && now.st_ino == then.st_ino)
        return CT_OK;
    return ct_fail(CT_EIO,
                   "%s: the run directory has been removed or replaced while the run went on: its checkpoints, metrics "
                   "and log are lost, and the training up to step %" PRId64 " with them", r->out, r->p.step);
}

/* One program of training, and that of smaller pictures; a short batch that cannot be built says that it is this batch.
 */
static ct_status add_program(ct_run *r, ct_program_kind kind, const ct_batch_shape *b, int64_t group)
{
    ct_status st = ct_session_add(&r->session, kind, b->rows, b->length, group, false);
    if (st == CT_OK && r->session.spec.small.steps > 0)
        return ct_session_add_small(&r->session, kind, b->rows, b->length, group);
    if ((st != CT_EINVAL && st != CT_ECONFIG) || b->rows == r->batch) return st;
    return ct_fail_context(CT_ECONFIG, "the last batch of an epoch has %d sample%s (train.last_batch drop "
                           "leaves it out)", b->rows, b->rows == 1 ? "" : "s");
}

/* The micro-steps of groups of `group` batches of one shape. Which place in a group it has is known only where all
 * batches are full and of one width. */
static ct_status add_group(ct_run *r, const ct_batch_shape *b, int64_t group)
{
    CT_TRY(add_program(r, CT_PROGRAM_MICRO_FIRST, b, group));
    return group > 1 ? add_program(r, CT_PROGRAM_MICRO_NEXT, b, group) : CT_OK;
}

/* The programs of training: for each shape of batches that occurs a step, or the micro-steps of full and last groups.
 */
static ct_status add_training(ct_run *r)
{
    const int64_t k = r->accumulate, tail = r->batches % k; /* micro-steps in the last group of an epoch; 0: full */
    ct_loader_spec l;
    ct_batch_shape *shape = NULL;
    size_t n = 0;
    ct_status st;
    ct_spec_loader(r->cfg, &r->data.train, &l);
    CT_TRY(ct_loader_shapes(&l, &shape, &n));
    for (size_t i = 0; i < n; i++) {
        if (k == 1) {
            CT_GOTO(st, add_program(r, CT_PROGRAM_STEP, &shape[i], 1));
            continue;
        }
        if (r->batches >= k) CT_GOTO(st, add_group(r, &shape[i], k));
        if (tail) CT_GOTO(st, add_group(r, &shape[i], tail));
    }
    const int64_t length = ct_session_length(&r->session);
    st = k > 1 ? ct_session_add(&r->session, CT_PROGRAM_UPDATE, r->batch, length, k, false) : CT_OK;
fail:
    ct_free(shape);
    return st;
}

static ct_status describe_model(ct_run *r)
{
    ct_model_meta *m = &r->meta;
    if (!(m->config = ct_config_json(r->cfg))) return CT_ENOMEM;
    if (!(m->kernels = ct_session_kernels(&r->session, true))) return CT_ENOMEM;
    if (r->choices && !(m->choices = ct_choices_text(r->choices))) return CT_ENOMEM;
    m->facts = r->data.facts;
    m->backend = r->session.backend->name;
    m->ema = r->eval_ema;
    CT_TRY(ct_view_key(&r->data.train, m->train_key));
    return ct_view_key(&r->data.val, m->val_key);
}

/* What the first process has measured is what all compute with. */
static ct_status take_choices(ct_run *r)
{
    char *text = NULL;
    if (!r->peers) return CT_OK;
    if (r->lead && !(text = ct_choices_text(r->choices))) return CT_ENOMEM;
    ct_status st = ct_peers_text(r->peers, &text);
    if (st == CT_OK && !r->lead) st = ct_choices_parse(text, "train.tune: auto", &r->choices);
    ct_free(text);
    return st;
}

/* train.tune: auto. What a resumed run chose is in its checkpoint, and stays. */
static ct_status choose_fastest(ct_run *r)
{
    ct_session *s = &r->session;
    ct_call_list calls = { .use = NULL };
    ct_status st = CT_OK;
    if (!ct_tune_is_auto(r->cfg) || r->from || r->choices) return CT_OK;
    for (size_t i = 0; i < s->units; i++)
        CT_GOTO(st, ct_call_list_add_graph(&calls, s->unit[i].prog.graph, CT_OP_COUNT));
    const ct_activity before = ct_crash_at(CT_AT_TUNE);
    if (r->lead) st = ct_tune_auto(s->backend, &s->device_opts, &calls, &r->choices);
    ct_crash_at(before);
    CT_GOTO(st, ct_peers_settle(r->peers, st, &r->told));
    CT_GOTO(st, take_choices(r));
    s->device_opts.choices = r->choices;
fail:
    ct_call_list_free(&calls);
    return st;
}

/* Of several processes each can take what the one with the least memory can. */
static ct_status share_auto(ct_run *r)
{
    const int64_t members = ct_peers_size(r->peers), parts = r->cfg->train.parts;
    const int64_t shares = parts > 0 ? parts : members;
    int64_t all = r->cfg->train.batch_size; /* in parts what one process takes: the same for any number of them */
    char number[32];
    if (!r->peers && parts == 0) return CT_OK;
    CT_TRY(ct_peers_extreme(r->peers, true, &all));
    if (parts == 0) all *= members;
    if (all > r->data.train.n) all = r->data.train.n;
    all -= all % shares;
    if (all == 0)
        return ct_fail(CT_ECONFIG, "train.batch_size: auto: %" PRId64 " training samples are too few for %" PRId64
                       " parts", r->data.train.n, shares);
    snprintf(number, sizeof number, "%" PRId64, all);
    return ct_config_set(r->cfg, "train.batch_size", number, "train.batch_size: auto");
}

/* train.batch_size: auto. A resumed run keeps the batch it had. */
static ct_status settle_batch(ct_run *r)
{
    const ct_config *cfg = r->cfg;
    const ct_backend *b;
    const ct_dataset *d = r->data.train.data;
    ct_config *old = NULL;
    const char *json = r->from ? ct_safetensors_meta(r->from, "config") : NULL;
    if (cfg->train.batch_size > 0) return CT_OK;
    if (json) {
        CT_TRY(ct_config_parse(json, strlen(json), r->from_path, NULL, 0, &old));
        char *number = ct_config_value(old, "train.batch_size");
        ct_config_free(old);
        if (!number) return CT_ENOMEM;
        ct_status st = ct_config_set(r->cfg, "train.batch_size", number, "train.batch_size: auto");
        if (st == CT_OK) ct_info("train.batch_size: auto: the run goes on with %s", number);
        ct_free(number);
        return st;
    }
    CT_TRY(ct_backend_choose(cfg->train.backend, &b, NULL, 0));
    const ct_device_opts opts = { .index = ct_peers_device(r->peers),
                                  .threads = (int)cfg->train.threads,
                                  .exact = cfg->train.exact,
                                  .deterministic = cfg->train.deterministic,
                                  .strict = cfg->train.strict };
    CT_TRY(ct_memory_auto(r->cfg, r->data.facts, ct_dataset_height(d), ct_dataset_width(d),
                          ct_spec_longest(r->cfg, &r->data.train), b, &opts, r->data.train.n));
    return share_auto(r);
}

/* Whether training images stay on the device. */
static ct_status choose_resident(ct_run *r)
{
    ct_session *s = &r->session;
    const ct_dataset *d = r->data.train.data;
    ct_resident_facts f = ct_resident_facts_of(d, r->cfg->data.resident);
    CT_TRY(ct_resident_decide(&f, &s->spec, s->backend, &s->device_opts, &r->resident));
    if (r->resident.yes) s->resident = d;
    return CT_OK;
}

/* What the terms of the loss are called. */
static void list_terms(ct_run *r)
{
    const ct_program *p = &r->session.unit[0].prog;
    for (int i = 0; i < p->ports; i++)
        if (p->port[i].role == CT_PORT_TERM) r->term[r->terms++] = p->port[i].name;
}

/* The batch is cut evenly, so that no process waits for another. */
static ct_status check_share(const ct_run *r)
{
    const int64_t members = ct_peers_size(r->peers), rest = r->batch % members, parts = r->cfg->train.parts;
    if (parts > 0 && parts % members != 0) /* parts are a power of two */
        return ct_fail(CT_ECONFIG, "train.parts: %" PRId64 " parts cannot be shared evenly by %" PRId64
                       " processes: start 1, 2, 4, ... of them, at most %" PRId64, parts, members, parts);
    if (rest == 0) return CT_OK;
    const int64_t below = r->batch - rest;
    return ct_fail(CT_ECONFIG, "train.batch_size: %" PRId64 " samples cannot be shared evenly by %" PRId64
                   " processes; %" PRId64 " or %" PRId64 " can", r->batch, members, below > 0 ? below : members,
                   below + members);
}

/* One process that is to add over NCCL does so by itself: every call is made, and the numbers stay what they are. */
static ct_status join_alone(ct_run *r)
{
    ct_session *s = &r->session;
    if (r->peers || strcmp(r->cfg->group.engine, "nccl") != 0) return CT_OK;
    if (ct_group_ready(s->backend) == CT_EUNSUPPORTED)
        return ct_fail(CT_ECONFIG, "group.engine: nccl is for cards, and this is backend %s", s->backend->name);
    CT_TRY(ct_group_ready(s->backend));
    s->join = (ct_group_opts){ .size = 1, .one = true, .deadline = r->cfg->group.deadline };
    return ct_group_id(s->backend, s->join.id);
}

/* What devices that add by themselves, or have memory of their own, do not do. */
static ct_status check_sums(const ct_run *r)
{
    const ct_session *s = &r->session;
    if ((!r->peers && !s->join.one) || s->backend->host_memory) return CT_OK;
    if (s->join.sync)
        return ct_fail(CT_ECONFIG, "train.sync_norm: batch norms see the samples of all processes on CPUs alone; on "
                       "backend %s each process's see its own", s->backend->name);
    if (s->join.tree && !s->join.ops)
        return ct_fail(CT_ECONFIG, "train.parts: cards add in an order of their own; with group.engine mpi processes "
                       "add in that of the parts");
    return CT_OK;
}

ct_status ct_run_build(ct_run *r)
{
    const ct_config *cfg = r->cfg;
    ct_config_log_notes(cfg);
    CT_TRY(ct_datasets_open(cfg, &r->data));
    CT_TRY(settle_batch(r));
    r->batch = cfg->train.batch_size;
    r->accumulate = cfg->train.accumulate;
    CT_TRY(ct_spec_epoch_of(cfg, &r->data.train, &r->batches, &r->steps_per_epoch));
    r->total_steps = cfg->train.epochs * r->steps_per_epoch;
    if (cfg->train.steps > 0 && cfg->train.steps < r->total_steps) r->total_steps = cfg->train.steps;

    CT_TRY(ct_metric_select(cfg, r->data.task, &r->select));
    CT_TRY(ct_metric_target(cfg, r->data.task, &r->target));
    ct_program_spec spec;
    CT_TRY(ct_spec_from_config(cfg, r->data.facts, ct_dataset_height(r->data.train.data),
                               ct_dataset_width(r->data.train.data), ct_spec_longest(cfg, &r->data.train),
                               r->steps_per_epoch, &spec));
    r->has_ema = spec.optim.decay > 0;
    r->eval_ema = r->has_ema && cfg->eval.ema;
    r->fp16 = spec.compute == CT_F16;
    const ct_device_opts opts = { .index = ct_peers_device(r->peers),
                                  .threads = (int)cfg->train.threads,
                                  .exact = cfg->train.exact,
                                  .eager = !cfg->train.graph,
                                  .deterministic = cfg->train.deterministic,
                                  .strict = cfg->train.strict,
                                  .choices = r->choices };
    ct_session *s = &r->session;
    CT_TRY(check_share(r));
    CT_TRY(ct_session_begin(s, &spec, true, cfg->train.backend, &opts, r->why, sizeof r->why));
    ct_crash_backend(s->backend->name);
    s->join = ct_peers_join(r->peers);
    CT_TRY(join_alone(r));
    s->join.tree = cfg->train.parts > 0;
    s->join.sync = cfg->train.sync_norm;
    CT_TRY(check_sums(r));
    s->parts = cfg->train.parts;
    s->bucket_bytes = cfg->group.bucket_mb > 0 ? cfg->group.bucket_mb << 20 : CT_BUCKET_WHOLE;
    CT_TRY(choose_resident(r));
    CT_TRY(add_training(r));
    list_terms(r);
    if (r->data.val.data) CT_TRY(ct_session_add_eval(s, &r->data.val, r->batch, r->eval_ema));
    if (r->data.test.data) CT_TRY(ct_session_add_eval(s, &r->data.test, r->batch, r->eval_ema));
    if (!r->data.val.data && !r->data.test.data)
        CT_TRY(ct_session_add(s, CT_PROGRAM_EVAL, 1, ct_session_length(s), 1, false));
    CT_TRY(choose_fastest(r));
    CT_TRY(ct_peers_settle(r->peers, ct_session_ready(s), &r->told)); /* who has not the memory keeps nobody waiting */
    if (r->peers) {
        CT_TRY(ct_peers_name_group(r->peers, s->backend, &s->join));
        CT_TRY(ct_session_join(s));
    }
    r->peak_bytes = ct_session_peak(s);
    /* a device that is far away is asked rarely; on a CPU reading 200 bytes costs nothing and names a bad step exactly
     */
    r->readback_every = strcmp(s->backend->name, "cpu") == 0 ? 1 : cfg->log.interval_steps;
    int64_t most = r->batch * r->accumulate; /* a step never reaches over the end of an epoch */
    const size_t ids = (size_t)(most < r->data.train.n ? most : r->data.train.n);
    r->ids = ct_calloc(ids, sizeof *r->ids, "sample numbers of a step");
    r->asked_ids = ct_calloc(ids, sizeof *r->asked_ids, "sample numbers of a step");
    if (!r->ids || !r->asked_ids) return CT_ENOMEM;
    if (s->join.size <= 1 && s->parts == 0) CT_TRY(ct_readback_open(s->store, &r->readback));
    if (r->data.val.data) {
        int64_t shared;
        CT_TRY(ct_datasets_shared(&r->data.train, &r->data.val, &shared));
    }
    return describe_model(r);
}

ct_status ct_run_start(ct_run *r, const char *init)
{
    ct_session *s = &r->session;
    CT_TRY(ct_arenas_init(s->store, s->ref_graph, (uint64_t)r->cfg->train.seed));
    if (init) {
        ct_status st = ct_init_weights(s, init, r->cfg, r->data.facts);
        if (st != CT_OK) return ct_fail_context(st, "--init");
    }
    if (r->has_ema) CT_TRY(ct_arenas_reset_ema(s->store));
    double state[CT_STATE_COUNT];
    ct_program_initial_state(&s->spec, state);
    CT_TRY(ct_arenas_set_state(s->store, state));
    memset(&r->p, 0, sizeof r->p);
    return CT_OK;
}

const char *ct_run_precision(const ct_session *s)
{
    return ct_spec_precision_name(&s->spec);
}

/* What train.freeze leaves out. */
static void describe_frozen(const ct_session *s)
{
    int64_t tensors = 0, params = 0, elems = 0;
    char a[32], b[32];
    for (size_t i = 0; i < s->tensors; i++) {
        const ct_tensor_ref *t = &s->tensor[i];
        if (t->arena != CT_ARENA_PARAM) continue;
        tensors++;
        if (!ct_name_matches_any(s->spec.freeze, s->spec.freezes, t->name)) continue;
        params++;
        elems += ct_desc_numel(&t->desc);
    }
    if (params > 0)
        ct_info("  frozen     %" PRId64 " of %" PRId64 " parameter tensors, %s of %s parameters (train.freeze)", params,
                tensors, ct_text_count(elems, a, sizeof a), ct_text_count(s->layout.params, b, sizeof b));
}

/* Parameters whose gradients the training program leaves out. */
static void describe_still(const ct_session *s)
{
    int n = 0;
    for (size_t i = 0; i < s->units && n == 0; i++) {
        const ct_graph *g = s->unit[i].prog.graph;
        for (size_t v = 0; v < g->nvalues; v++) n += g->values[v].still;
    }
    if (n > 0)
        ct_info("  still      %d biases in front of batch norms, which take them away again: their gradients are zero "
                "and not computed", n);
}

/* What train.progressive does. */
static void describe_small(const ct_session *s)
{
    ct_program_spec seen = s->spec;
    if (seen.small.steps == 0) return;
    ct_program_shrink(&seen);
    ct_info("  smaller    %" PRId64 "x%" PRId64 " pixels in the first %" PRId64 " steps (train.progressive)",
            seen.model.height, seen.model.width, seen.small.steps);
}

static void tell(void *user, const char *what, const char *text)
{
    (void)user;
    ct_info("  %-10s %s", what, text);
}

static bool has_norms(const ct_session *s)
{
    const ct_graph *g = s->unit[0].prog.graph;
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_BATCHNORM || g->nodes[i].op == CT_OP_BATCHNORM_JOINT) return true;
    return false;
}

static void describe_processes(const ct_run *r)
{
    const int n = ct_peers_size(r->peers), hosts = ct_peers_hosts(r->peers);
    const int64_t parts = r->session.parts;
    const char *norms = !has_norms(&r->session)    ? ""
                        : r->session.join.sync ? ", and batch norms see all"
                                               : ", and batch norms see those";
    if (r->peers)
        ct_info("  processes  %d on %d machine%s, over %s; each computes %" PRId64 " of %" PRId64 " samples%s", n,
                hosts, hosts == 1 ? "" : "s", ct_peers_means(r->peers), r->batch / n, r->batch,
                parts > 0 ? "" : norms);
    const int cards = r->peers || r->session.backend->host_memory ? 1 : r->session.backend->device_count();
    if (r->session.join.one) ct_info("  group      of one, over NCCL");
    if (cards > 1)
        ct_info("  cards      1 of the %d that are there; captrain launch train ... computes on all of them", cards);
    if (parts > 0)
        ct_info("  parts      %" PRId64 " of %" PRId64 " samples each%s; any power of two up to %" PRId64
                " processes trains the same bits", parts, r->batch / parts, norms, parts);
}

void ct_run_describe(const ct_run *r)
{
    const ct_session *s = &r->session;
    const ct_config *cfg = r->cfg;
    char a[32], b[32];
    ct_info("captrain %s, run directory %s", ct_version(), r->out);
    const ct_model_spec *m = &s->spec.model;
    const ct_place place = ct_session_place(s, cfg, r->data.facts);
    char reads[96];
    r->data.task->outputs(&place, reads, sizeof reads);
    ct_info("  data       %s training samples (%s), %s for validation%s%s", ct_text_count(r->data.train.n, a, sizeof a),
            ct_dataset_root(r->data.train.data), ct_text_count(r->data.val.n, b, sizeof b), *cfg->data.val ? ": " : "",
            cfg->data.val);
    if (r->data.task->describe) r->data.task->describe(&place, tell, NULL);
    ct_info("  model      %s, %s parameters, %" PRId64 "x%" PRId64 "x%" PRId64 " pixels -> %s", m->name,
            ct_text_count(s->layout.params, a, sizeof a), m->height, m->width, m->channels, reads);
    describe_small(s);
    ct_info("  batch      %" PRId64 " x %" PRId64 " = %" PRId64 " samples per step; %" PRId64 " batches and %" PRId64
            " steps per epoch, at most %s steps",
            r->batch, r->accumulate, r->batch * r->accumulate, r->batches, r->steps_per_epoch,
            ct_text_count(r->total_steps, a, sizeof a));
    /* why this backend, only where another could have been expected */
    const char *others = strstr(r->why, "; ");
    ct_info("  device     %s: %s, %d thread%s%s", s->backend->name, s->device.name, s->device.threads,
            s->device.threads == 1 ? "" : "s", others ? others : "");
    describe_processes(r);
    ct_info("  precision  %s%s", ct_run_precision(s), r->fp16 ? " with dynamic loss scale" : "");
    ct_info("  lr         %g (optimizer.lr %g, schedule.lr_rule %s)", s->spec.schedule.base_lr, cfg->optimizer.lr,
            cfg->schedule.lr_rule == CT_CFG_LR_LINEAR ? "linear"
            : cfg->schedule.lr_rule == CT_CFG_LR_SQRT ? "sqrt"
                                                      : "none");
    describe_frozen(s);
    describe_still(s);
    ct_info("  images     %s: %s", r->resident.yes ? "stay on the device" : "are sent batch by batch", r->resident.why);
    ct_info("  memory     %s planned on the device", ct_text_bytes(r->peak_bytes, a, sizeof a));
    if (ct_dataset_bad_count(r->data.train.data) > 0)
        ct_warn("%" PRId64 " samples of %s cannot be used and are left out", ct_dataset_bad_count(r->data.train.data),
                cfg->data.train);
}

void ct_run_release(ct_run *r)
{
    ct_bar_end(&r->bar);
    ct_loader_close(r->loader);
    ct_journal_close(r->journal);
    ct_readback_close(r->readback);
    ct_session_end(&r->session);
    ct_choices_free(r->choices);
    ct_safetensors_close(r->from);
    ct_free(r->from_path);
    ct_model_meta_free(&r->meta);
    ct_datasets_close(&r->data);
    ct_config_free(r->cfg);
    json_decref(r->resumed);
    json_decref(r->resumed_with);
    ct_free(r->ids);
    ct_free(r->asked_ids);
    ct_peers_part(r->peers, false);
    ct_free(r->word);
    ct_free(r->own);
    ct_log_set_file(NULL);
    ct_crash_log(-1);
    ct_crash_step(-1);
    ct_crash_at(CT_AT_START);
    ct_crash_backend(NULL);
    ct_crash_doing(NULL, NULL); /* its names go with the graphs */
    if (r->log) fclose(r->log);
    if (r->dir >= 0) close(r->dir);
    ct_free(r->out);
    ct_free(r->checkpoints);
    memset(r, 0, sizeof *r);
}
