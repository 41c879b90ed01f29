/* What a device tells about itself (ct_telemetry of backends/backend.h), for people and for files. */
#ifndef CT_EXEC_TELEMETRY_H
#define CT_EXEC_TELEMETRY_H

#include "exec/exec.h"
#include "formats/json.h"

/* A number that the device told: neither NAN nor negative. */
static inline bool ct_telemetry_known(double v) { return v >= 0; }

/* State of device `index`. CT_EBACKEND naming the backend if it has nothing to tell, or with the backend's own reason. */
ct_status ct_telemetry_read(const ct_backend *b, int index, ct_telemetry *out);

/* One object: power, power_limit (W), energy (J), busy, memory_busy (0..1), temperature (degrees Celsius), clock, clock_max, memory_clock
 * (MHz), memory_used, memory_total (bytes), throttle. What is not known is left out, or null if `all`. NULL with CT_ENOMEM recorded. */
json_t *ct_telemetry_json(const ct_telemetry *t, bool all);

/* "312 / 700 W, 98 % busy, memory 71 % busy, 64 C, 1755 / 1980 MHz, memory 2619 MHz, 20.0 / 80.0 GB, held down by: power cap" into buf;
 * what is not known is left out. Returns buf. */
char *ct_telemetry_text(const ct_telemetry *t, char *buf, size_t size);

/* What is not told, of power, load, temperature, clock, memory: "power, temperature" into buf; "" if all of it is. Returns buf. */
char *ct_telemetry_missing(const ct_telemetry *t, char *buf, size_t size);

#endif
