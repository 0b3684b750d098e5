/* sudden HOW CALLS: makes CALLS calls in a child of fork, which then ends without an exit handler or as another program, and
 * as many itself, the last of them in a destructor.
 *   _exit    quick_exit    exec */
#include "fake.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long calls, good;

static void make(void) {
    int version = 0;
    for (long i = 0; i < calls; i++) good += cuDriverGetVersion(&version) == 0;
}

__attribute__((destructor)) static void last(void) {
    make();
    printf("%ld succeeded\n", good);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    calls = atol(argv[2]);
    pid_t child = fork();
    if (!child) {
        make();
        if (!strcmp(argv[1], "_exit")) _exit(7);
        if (!strcmp(argv[1], "quick_exit")) quick_exit(7);
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)0);
        abort();
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 3;
    printf("child %d\n", WEXITSTATUS(status));
    return 5;
}
