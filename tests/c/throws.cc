// C++ exceptions thrown across a call of CUDA, deeper and deeper, and caught outside of it; then calls in peace. Thread-local objects
// whose destructors call. Prints what was done.
extern "C" {
#include "fake.h"
}
#include <cstdio>
#include <cstdlib>
#include <thread>

struct Counted {
    static int alive;
    Counted() { alive++; }
    ~Counted() {
        int version = 0;
        alive--;
        if (cuDriverGetVersion(&version) || version != 13000) std::abort();
    }
};
int Counted::alive;

static int depth;

static int deeper() {
    Counted here;
    if (--depth > 0) return cuCtxSynchronize();
    throw 7;
}

static void thread() {
    static thread_local Counted kept;
    int version = kept.alive;
    if (cuDriverGetVersion(&version)) std::abort();
}

int main() {
    int caught = 0;
    for (int round = 1; round <= 20; round++) {
        fake_inside = deeper;
        depth = round;
        try {
            cuCtxSynchronize();
        } catch (int thrown) {
            caught += thrown == 7;
        }
        fake_inside = nullptr;
        cuCtxSynchronize();
    }
    for (int i = 0; i < 20; i++) std::thread(thread).join();
    std::printf("caught %d, alive %d, begun %lu\n", caught, Counted::alive, fake_begun);
}
