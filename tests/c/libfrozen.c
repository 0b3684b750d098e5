/* A library that makes programs believe that time stands still, as such for tests and builds that are to be repeatable do. */
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = 1577836800;
    time->tv_nsec = 0;
    return 0;
}
