/* The least that a libcuda can be: two functions that do next to nothing, so that what is measured is the tracing. */

int cuCtxSynchronize(void) { return 0; }

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
