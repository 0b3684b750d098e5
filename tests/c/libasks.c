/* Helper of inside and held: a call from a library of its own. */
#include "fake.h"

int asks(void) {
    int version = 0;
    return cuDriverGetVersion(&version) || version != 13000;
}
