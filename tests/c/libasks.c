/* Helper of inside and close_us: a call from a library of its own. */
#include "fake.h"

int asks(void) {
    int version = 0;
    return cuDriverGetVersion(&version) || version != 13000;
}
