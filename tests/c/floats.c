/* Arguments in vector registers arrive as they are, also where the hook asks the C library for the time before the call. */
#include "fake.h"

int main(void) {
    int bad = 0;
    for (int i = 1; i < 100; i++) bad += cuParamSetf((void *)1, i, (float)i / 4) != 0;
    printf("bad %d\n", bad);
    return 0;
}
