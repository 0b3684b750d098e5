/* exec self|other|cleared: makes calls, then becomes itself (which makes calls once more), the program linked_driver beside it, or
 * itself without its environment. */
#include "cuda_min.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int device = -1, made = 0;
    for (int i = 0; i < 100; i++) made += cudaGetDevice(&device) == 0;
    printf("%s: %d calls, pid same %d\n", how, made, argc > 2 ? atoi(argv[2]) == getpid() : -1);
    fflush(stdout);
    char pid[32], other[4096], path[4096];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (!strcmp(how, "self")) execl("/proc/self/exe", argv[0], "again", pid, (char *)0);
    if (!strcmp(how, "other")) {
        snprintf(other, sizeof other, "%s", argv[0]);
        snprintf(strrchr(other, '/'), 32, "/linked_driver");
        execl(other, other, (char *)0);
    }
    if (!strcmp(how, "cleared")) {
        snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
        char *arguments[] = {argv[0], "again", pid, 0}, *environment[] = {path, 0};
        execve("/proc/self/exe", arguments, environment);
    }
    return strcmp(how, "again") != 0;
}
