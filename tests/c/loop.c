/* loop N: N calls of one cheap driver function, from one call site. */
#include "fake.h"
#include <stdlib.h>

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1000, good = 0;
    int version = 0;
    for (long i = 0; i < calls; i++) good += cuDriverGetVersion(&version) == 0;
    return good != calls;
}
