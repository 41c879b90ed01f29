/* The progress bar. */
#include "config.h"

#include "train/progress.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"

#define DRAW_EVERY 0.1  /* seconds */
#define LINE_EVERY 10.0 /* seconds */

char *ct_bar_duration(double seconds, char *buf, size_t size)
{
    long long s = (long long)(seconds + 0.5);
    if (!(seconds >= 0) || seconds > 1e9)
        snprintf(buf, size, "?");
    else if (s < 60)
        snprintf(buf, size, "%lld s", s);
    else if (s < 3600)
        snprintf(buf, size, "%lld:%02lld", s / 60, s % 60);
    else
        snprintf(buf, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    return buf;
}

char *ct_bar_bytes(int64_t bytes, char *buf, size_t size)
{
    static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
    double v = (double)bytes;
    size_t k = 0;
    for (; v >= 1000 && k + 1 < sizeof unit / sizeof unit[0]; k++) v /= 1000;
    snprintf(buf, size, k == 0 ? "%.0f %s" : v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s", v, unit[k]);
    return buf;
}

char *ct_bar_count(int64_t v, char *buf, size_t size)
{
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%lld", (long long)v);
    size_t k = 0;
    for (int i = 0; i < n && k + 2 < size; i++) {
        buf[k++] = digits[i];
        if ((n - 1 - i) % 3 == 0 && i < n - 1 && digits[i] != '-') buf[k++] = ',';
    }
    buf[k] = '\0';
    return buf;
}

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
    if (s->eta_s >= 0) n += snprintf(buf + n, size - (size_t)n, "  ETA %s", ct_bar_duration(s->eta_s, t, sizeof t));
    if (s->memory > 0) n += snprintf(buf + n, size - (size_t)n, "  %s", ct_bar_bytes(s->memory, t, sizeof t));
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
