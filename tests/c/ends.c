/* The threads that there are besides the one that ends the process, by name, as an exit handler finds them that was
 * registered before the driver was initialised. */
#include "cuda_min.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void at_exit(void) {
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = atoi(task->d_name) == getpid() ? 0 : fopen(path, "r");
        if (comm && fgets(name, sizeof name, comm)) printf("%s", name);
        if (comm) fclose(comm);
    }
    printf("that is all\n");
    fflush(stdout);
}

int main(void) {
    int device = -1;
    void *memory = 0;
    atexit(at_exit);
    if (cuInit(0) || cudaMalloc(&memory, 64) || cudaFree(memory) || cudaGetDevice(&device)) return 1;
    return 0;
}
