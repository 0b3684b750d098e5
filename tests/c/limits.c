/* limits WHAT WHEN CALLS [DIR]: makes CALLS calls with something taken away, early (before the first call) or late (after some).
 *   fsize: no file may grow beyond 128 KiB    empty: no file may grow at all    nofile: no descriptor may be opened
 *   close: descriptors 0 to 1024 are closed, files of the program's own opened in their place, which must stay as they are
 *   vanish: DIR is removed with all in it                none: nothing is taken away
 * Prints how many calls succeeded, and whether errno stayed as it was over each of them. */
#define _GNU_SOURCE
#include "fake.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int own[8];

static void take(const char *what, const char *dir) {
    struct rlimit limit = {0, 0};
    if (!strcmp(what, "fsize")) {
        limit.rlim_cur = limit.rlim_max = 128 << 10;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (!strcmp(what, "empty")) setrlimit(RLIMIT_FSIZE, &limit);
    if (!strcmp(what, "nofile")) setrlimit(RLIMIT_NOFILE, &limit);
    if (!strcmp(what, "close")) {
        for (int i = 0; i <= 1024; i++) close(i);
        for (int i = 0; i < 8; i++) own[i] = open(dir, O_RDWR | O_TMPFILE, 0600);
    }
    if (!strcmp(what, "vanish")) {
        DIR *folder = opendir(dir);
        struct dirent *entry;
        char path[4096];
        while (folder && (entry = readdir(folder))) {
            snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
            unlink(path);
        }
        if (folder) closedir(folder);
        if (rmdir(dir)) abort();
    }
}

int main(int argc, char **argv) {
    if (argc < 4 || (!strcmp(argv[1], "vanish") && argc < 5)) return 2;
    int out = fcntl(1, F_DUPFD, 1500);
    if (out < 0) return 3;
    long calls = atol(argv[3]), good = 0, kept = 0, before = 0;
    int version = 0, untouched = 1;
    if (!strcmp(argv[2], "late"))
        for (int i = 0; i < 100; i++) before += cuDriverGetVersion(&version) == 0;
    take(argv[1], argc > 4 ? argv[4] : "/tmp");
    for (long i = 0; i < calls; i++) {
        errno = 77;
        good += cuDriverGetVersion(&version) == 0;
        kept += errno == 77;
    }
    if (!strcmp(argv[1], "close"))
        for (int i = 0; i < 8; i++) untouched &= own[i] >= 0 && own[i] <= 1024 && lseek(own[i], 0, SEEK_END) == 0;
    dprintf(out, "%ld before, %ld succeeded, errno kept %ld, untouched %d\n", before, good, kept, untouched);
    return 5;
}
