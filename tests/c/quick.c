/* quick LAUNCHES MIGRATIONS: on the driver of libquick.c, so many launches with two pointers and two numbers from one call site;
 * then the hook is handed so many migrations. Prints the pointers' number, and ns of processor time for each migration and
 * for copying its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **params, void **extra);
extern long quick_wanted, quick_done, quick_ns, quick_floor_ns;

int main(int argc, char **argv) {
    long launches = argc > 1 ? atol(argv[1]) : 1000, migrations = argc > 2 ? atol(argv[2]) : 0;
    unsigned long a = 0x7f0000100000, b = 0x7f0000200000, n = 77, m = 1;
    void *params[] = {&a, &b, &n, &m};
    int failed = cuInit(0);
    for (long i = 0; i < launches; i++) failed |= cuLaunchKernel((void *)0x5000, 1, 1, 1, 64, 1, 1, 0, 0, params, 0);
    if (migrations) {
        __atomic_store_n(&quick_wanted, migrations, __ATOMIC_RELEASE);
        for (int i = 0; i < 5000 && __atomic_load_n(&quick_done, __ATOMIC_ACQUIRE) < migrations; i++) usleep(10000);
        printf("done %ld, %ld ns each, copied in %ld ns\n", quick_done, quick_ns / (quick_done + !quick_done),
               quick_floor_ns / (quick_done + !quick_done));
    }
    return failed;
}
