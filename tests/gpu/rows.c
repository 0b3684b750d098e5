/* What plain CUPTI says of unified memory, a row a line, as a second opinion: loaded by CUDA_INJECTION64_PATH, written to
 * ROWS_OUT as "KIND ADDRESS BYTES SOURCE DESTINATION". */
#include <cuda.h>
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if CUDA_VERSION >= 13000
typedef CUpti_ActivityUnifiedMemoryCounter3 Counter;
#else
typedef CUpti_ActivityUnifiedMemoryCounter2 Counter;
#endif

static CUpti_SubscriberHandle subscriber;
static FILE *out;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) continue;
        const Counter *row = (const Counter *)record;
        fprintf(out, "%u %llu %llu %u %u\n", row->counterKind, (unsigned long long)row->address, (unsigned long long)row->value, row->srcId, row->dstId);
    }
    free(buffer);
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
    static int done;
    const int kinds[3] = {1, 2, 8};
    CUpti_ActivityUnifiedMemoryCounterConfig configs[3];
    (void)user, (void)data;
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED || done++) return;
    for (int at = 0; at < 3; at++) {
        configs[at].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
        configs[at].kind = kinds[at];
        configs[at].deviceId = 0;
        configs[at].enable = 1;
    }
    cuptiActivityRegisterCallbacks(requested, completed);
    cuptiActivityConfigureUnifiedMemoryCounter(configs, 3);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

static void finish(void) {
    cuptiActivityFlushAll(1);
    fclose(out);
}

int InitializeInjection(void) {
    const char *path = getenv("ROWS_OUT");
    out = path ? fopen(path, "w") : NULL;
    if (!out) return 1;
    cuptiSubscribe(&subscriber, called, NULL);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    atexit(finish);
    return 1;
}
