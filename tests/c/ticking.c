/* ticking N MS: N calls, one every MS milliseconds; prints after each when it has returned, by CLOCK_MONOTONIC in nanoseconds. Then it
 * waits until its stdin ends. */
#include "fake.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int calls = argc > 1 ? atoi(argv[1]) : 1, version = 0;
    struct timespec pause = {0, (argc > 2 ? atol(argv[2]) : 1) * 1000000}, now;
    char byte;
    for (int i = 0; i < calls; i++) {
        nanosleep(&pause, 0);
        if (cuDriverGetVersion(&version)) return 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%ld\n", now.tv_sec * 1000000000 + now.tv_nsec);
        fflush(stdout);
    }
    while (read(0, &byte, 1) > 0) {}
    return 0;
}
