/* Two LTTng-UST events round a call: what a tool built on them would record. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER umtui_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tracepoints.h"

#if !defined(UMTUI_BENCH_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define UMTUI_BENCH_TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(umtui_bench, enter,
    LTTNG_UST_TP_ARGS(uint32_t, function, uint64_t, site),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, function, function)
        lttng_ust_field_integer_hex(uint64_t, site, site)))

LTTNG_UST_TRACEPOINT_EVENT(umtui_bench, leave,
    LTTNG_UST_TP_ARGS(uint32_t, function, int32_t, status, int32_t, value),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, function, function)
        lttng_ust_field_integer(int32_t, status, status)
        lttng_ust_field_integer(int32_t, value, value)))

#endif

#include <lttng/tracepoint-event.h>
