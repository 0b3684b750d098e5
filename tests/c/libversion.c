/* Helper of for_all: calls the runtime, and names no library that has it. */
int cudaRuntimeGetVersion(int *version);

int version(void) {
    int found = 0;
    return cudaRuntimeGetVersion(&found) ? -1 : found;
}
