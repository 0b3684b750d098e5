/* loop N [none|pointee]: N calls of one cheap driver function, from one call site; it takes nothing, or fills in a number. */
#include "fake.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1000, good = 0;
    int version = 0;
    if (argc > 2 && !strcmp(argv[2], "none"))
        for (long i = 0; i < calls; i++) good += cuCtxSynchronize() == 0;
    else
        for (long i = 0; i < calls; i++) good += cuDriverGetVersion(&version) == 0;
    return good != calls;
}
