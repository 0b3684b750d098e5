/* Plain CUPTI doing what the hook has it do, as a peer for what that costs: loaded by CUDA_INJECTION64_PATH, records the same
 * kinds and throws them away. PEER_FAULTS=1: page faults too. PEER_BARE=1: enables nothing. */
#include <cuda.h>
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long records;
static CUpti_SubscriberHandle subscriber;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 128 << 10;
    *buffer = aligned_alloc(8, *size);
    *most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records++;
    free(buffer);
}

static void enable(void) {
    static int done;
    if (done++) return;
    CUpti_ActivityUnifiedMemoryCounterConfig configs[8];
    int count = 0, most = getenv("PEER_FAULTS") ? 8 : 3;
    const int kinds[8] = {1, 2, 8, 3, 4, 5, 6, 7};
    for (; count < most; count++) {
        configs[count].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
        configs[count].kind = kinds[count];
        configs[count].deviceId = 0;
        configs[count].enable = 1;
    }
    cuptiActivityRegisterCallbacks(requested, completed);
    cuptiActivityConfigureUnifiedMemoryCounter(configs, count);
    const CUpti_ActivityKind activities[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD,
        CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER};
    for (unsigned at = 0; at < sizeof activities / sizeof *activities; at++) cuptiActivityEnable(activities[at]);
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data) {
    (void)user, (void)data;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) enable();
}

static void finish(void) {
    cuptiActivityFlushAll(1);
    if (getenv("PEER_TELL")) fprintf(stderr, "peer: %lu records\n", records);
}

int InitializeInjection(void) {
    if (getenv("PEER_BARE")) return 1;
    cuptiSubscribe(&subscriber, called, NULL);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    atexit(finish);
    return 1;
}
