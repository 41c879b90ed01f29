/* The progress bar. */
#include "config.h"

#include "run/bar.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#define DRAW_EVERY 0.1  /* seconds */
#define LINE_EVERY 10.0 /* seconds */

static void clear(void *user)
{
    ct_bar *b = user;
    if (b->drawn) fputs("\r\033[K", b->to);
}

static void redraw(void *user)
{
    ct_bar *b = user;
    if (!b->drawn) return;
    fputs(b->text, b->to);
    fflush(b->to);
}

void ct_bar_begin(ct_bar *b, FILE *terminal)
{
    memset(b, 0, sizeof *b);
    if (terminal && isatty(fileno(terminal)) && ct_log_get_level() >= CT_LOG_INFO) {
        b->to = terminal;
        b->color = ct_env_get(CT_ENV_NO_COLOR) == NULL;
        ct_log_set_hooks(clear, redraw, b);
    }
    b->last = ct_now();
}

void ct_bar_end(ct_bar *b)
{
    if (!b->to) return;
    clear(b);
    fflush(b->to);
    b->drawn = false;
    ct_log_set_hooks(NULL, NULL, NULL);
    b->to = NULL;
}

/* Numbers behind the bar: "12.3 it/s  loss 0.1234  lr 1.0e-03  ETA 2:03  1.2 GB  312 W  98 % busy". */
static void numbers(const ct_bar_state *s, char *buf, size_t size)
{
    char t[32];
    int n = 0;
    buf[0] = '\0';
    if (s->steps_per_s > 0)
        n += snprintf(buf + n, size - (size_t)n, "  %.*f it/s", s->steps_per_s < 10 ? 2 : 1, s->steps_per_s);
    if (!isnan(s->loss)) n += snprintf(buf + n, size - (size_t)n, "  loss %.4f", s->loss);
    if (!isnan(s->lr)) n += snprintf(buf + n, size - (size_t)n, "  lr %.2e", s->lr);
    if (s->eta_s >= 0) n += snprintf(buf + n, size - (size_t)n, "  ETA %s", ct_text_duration(s->eta_s, t, sizeof t));
    if (s->memory > 0) n += snprintf(buf + n, size - (size_t)n, "  %s", ct_text_bytes(s->memory, t, sizeof t));
    if (s->power > 0) n += snprintf(buf + n, size - (size_t)n, "  %.0f W", s->power);
    if (s->busy > 0) snprintf(buf + n, size - (size_t)n, "  %.0f %% busy", 100 * s->busy);
}

static int columns(FILE *f)
{
    struct winsize w;
    return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

static void draw(ct_bar *b, const ct_bar_state *s, const char *tail)
{
    static const char *const eighth[] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589" };
    char count[48];
    snprintf(count, sizeof count, " %lld/%lld", (long long)s->done, (long long)s->total);
    int room = columns(b->to) - 1 - (int)(strlen(s->what) + strlen(count) + strlen(tail)) - 3;
    if (room > 40) room = 40;
    double share = s->total > 0 ? (double)s->done / (double)s->total : 0;
    int cells = room > 4 ? (int)(share * 8 * room) : 0, n = 0;
    n += snprintf(b->text + n, sizeof b->text - (size_t)n, "%s ", s->what);
    if (room > 4) {
        n += snprintf(b->text + n, sizeof b->text - (size_t)n, "%s\u2595", b->color ? "\033[36m" : "");
        for (int i = 0; i < room; i++) {
            int level = cells - 8 * i;
            n += snprintf(b->text + n, sizeof b->text - (size_t)n, "%s",
                          level >= 8  ? "\u2588"
                          : level > 0 ? eighth[level]
                                      : " ");
        }
        n += snprintf(b->text + n, sizeof b->text - (size_t)n, "\u258f%s", b->color ? "\033[0m" : "");
    }
    snprintf(b->text + n, sizeof b->text - (size_t)n, "%s%s", count, tail);
    if (room <= 4) { /* a narrow terminal: cut, never wrap */
        size_t most = (size_t)columns(b->to) - 1;
        if (strlen(b->text) > most) b->text[most] = '\0';
    }
    clear(b);
    b->drawn = true;
    redraw(b);
}

void ct_bar_update(ct_bar *b, const ct_bar_state *s, bool force)
{
    double now = ct_now();
    if (!force && now - b->last < (b->to ? DRAW_EVERY : LINE_EVERY)) return;
    b->last = now;
    char tail[160];
    numbers(s, tail, sizeof tail);
    if (b->to)
        draw(b, s, tail);
    else
        ct_info("%s: %lld/%lld%s", s->what, (long long)s->done, (long long)s->total, tail);
}
