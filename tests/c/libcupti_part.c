/* A CUPTI that is not as it should be, for UMTUI_CUPTI. Built as:
 *   -DLACKS   one that has cuptiGetVersion and nothing else
 *   -DHANGS   the stand-in, but a flush never returns
 *   -DSLOW    the stand-in, but each record takes a millisecond to be looked at */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#ifdef LACKS
int cuptiGetVersion(uint32_t *version) {
    *version = 130000;
    return 0;
}
#endif
#ifdef HANGS
int cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    for (;;) pause();
}
#endif
#ifdef SLOW
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    static int (*real)(uint8_t *, size_t, uint8_t **);
    if (!real) real = (int (*)(uint8_t *, size_t, uint8_t **))dlsym(RTLD_NEXT, "cuptiActivityGetNextRecord");
    usleep(1000);
    return real(buffer, valid, record);
}
#endif
