/* What happens to a process from outside: signals, a limit of the address space, other things in place of its files. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/signals.h"
#include "tests/ct_check.h"

/* A child that has a handler for sig: gets it, and once more `pause` seconds later. Its wait status. */
static int signalled_twice(int sig, unsigned pause)
{
    int status = 0;
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(sig, SIG_DFL); /* nohup has SIGHUP ignored */
        ct_signals_begin();
        raise(sig);
        if (ct_stop_signal != sig) _exit(1);
        sleep(pause);
        raise(sig);
        _exit(7);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* The first signal asks; a later one ends a process that does not come to an end. timeout(1) sends two at once. */
START_TEST(second_signal_ends)
{
    const int at_once = signalled_twice(SIGTERM, 0), later = signalled_twice(SIGTERM, 3);
    const int hup = signalled_twice(SIGHUP, 3);
    ck_assert(WIFEXITED(at_once) && WEXITSTATUS(at_once) == 7);
    ck_assert(WIFSIGNALED(later) && WTERMSIG(later) == SIGTERM);
    ck_assert(WIFSIGNALED(hup) && WTERMSIG(hup) == SIGHUP);
}
END_TEST

/* A limit of the address space leaves what is kept for others. */
START_TEST(address_space_is_kept)
{
    const size_t taken = ct_alloc_address_space();
    if (taken == 0) return; /* no such number here */
    ct_alloc_limit(taken + ((size_t)64 << 20), (size_t)32 << 20);
    void *much = ct_malloc((size_t)48 << 20, "much"), *little = ct_malloc((size_t)4 << 20, "little");
    char message[256];
    snprintf(message, sizeof message, "%s", ct_error_message());
    const bool room = ct_alloc_has_room((size_t)48 << 20);
    ct_alloc_limit(0, 0);
    ck_assert_ptr_null(much);
    ck_assert_ptr_nonnull(little);
    ck_assert(!room && ct_alloc_has_room((size_t)48 << 20));
    ck_assert_ptr_nonnull(strstr(message, "for much (ulimit -v allows"));
    ct_free(little);
}
END_TEST

START_TEST(plain_files_only)
{
    uint8_t *data;
    size_t n;
    int fd;
    char *aside, *unlink_later;
    char dir[] = "/tmp/captrain-process.XXXXXX", pipe_path[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
    ck_assert_int_eq(mkfifo(pipe_path, 0666), 0);
    ck_assert_int_eq(ct_file_read_plain(pipe_path, 99, &data, &n), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "pipe: not a regular file"));
    ck_assert_int_eq(ct_file_open_log(pipe_path, O_WRONLY, &fd), CT_EFORMAT);
    ck_assert_int_eq(ct_file_open_log(pipe_path, O_RDWR, &fd), CT_EFORMAT);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "pipe: not a regular file"));
    ck_assert_int_eq(ct_file_aside(pipe_path, &aside), CT_OK);
    ck_assert_ptr_nonnull(strstr(aside, "pipe.damaged"));
    ck_assert(ct_path_exists(aside) && !ct_path_is_file(aside) && !ct_path_exists(pipe_path));
    unlink_later = ct_strdup(aside, "a path");
    ct_free(aside);
    ck_assert_int_eq(ct_file_write_atomic(pipe_path, "x", 1), CT_OK);
    ck_assert_int_eq(ct_file_aside(pipe_path, &aside), CT_OK); /* the name is taken */
    ck_assert_ptr_nonnull(strstr(aside, "pipe.damaged.2"));
    ck_assert(ct_path_is_file(aside));
    unlink(aside);
    unlink(unlink_later);
    ct_free(unlink_later);
    ct_free(aside);
    ck_assert_int_eq(ct_file_aside(pipe_path, &aside), CT_EIO);
    ck_assert_ptr_null(aside);
    rmdir(dir);
}
END_TEST

static Suite *process_suite(void)
{
    Suite *s = suite_create("process");
    TCase *t = tcase_create("process");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, second_signal_ends);
    tcase_add_test(t, address_space_is_kept);
    tcase_add_test(t, plain_files_only);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(process_suite());
}
