/* Counts what CUPTI's own callbacks see, by name, as a second opinion: loaded by CUDA_INJECTION64_PATH. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS 2048
static unsigned long counts[2][IDS];
static const char *names[2][IDS];

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *info) {
    const CUpti_CallbackData *call = info;
    int layer = domain == CUPTI_CB_DOMAIN_DRIVER_API;
    (void)data;
    if (call->callbackSite != CUPTI_API_ENTER || id >= IDS) return;
    names[layer][id] = call->functionName;
    __atomic_fetch_add(&counts[layer][id], 1, __ATOMIC_RELAXED);
}

static void print(void) {
    const char *path = getenv("COUNT_OUT");
    FILE *out = path ? fopen(path, "w") : stderr;
    for (int layer = 0; out && layer < 2; layer++)
        for (int id = 0; id < IDS; id++)
            if (counts[layer][id]) fprintf(out, "%s %s %lu\n", layer ? "driver" : "runtime", names[layer][id], counts[layer][id]);
    if (out && path) fclose(out);
}

int InitializeInjection(void) {
    CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, called, 0) != CUPTI_SUCCESS) return 1;
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    atexit(print);
    return 1;
}
