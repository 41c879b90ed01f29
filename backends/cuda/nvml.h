/* NVML, the library in which NVIDIA's driver tells about its cards. It is opened by name when it is first asked, with prototypes of our
 * own: nothing is linked and no header of it is needed. Nothing here knows CUDA: a card is named by its PCI bus id, since the driver
 * and CUDA number cards differently. Not for several threads at once. */
#ifndef CT_CUDA_NVML_H
#define CT_CUDA_NVML_H

#include "backends/backend.h"

enum { CT_NVML_BUS = 32 }; /* bytes of a bus id, with its end */

/* State of the card at PCI bus id `bus`, in either spelling. What the card or an old driver does not tell is NAN or "". CT_EBACKEND,
 * with a message of its own each: the library is missing, is too old, cannot start, knows no such card. */
ct_status ct_nvml_telemetry(const ct_services *core, const char *bus, ct_telemetry *out);
/* "2.10 GB by process 4711 (python3), 300 MB by process 12": who holds the card's memory, most first; "" if that cannot be known or nobody
 * does. */
void ct_nvml_holders(const ct_services *core, const char *bus, char *buf, size_t size);
/* "575.57.08": the driver's version; "" where it does not say. */
void ct_nvml_driver(const ct_services *core, char *buf, size_t size);
/* Closes the library; whoever asks next opens it anew. */
void ct_nvml_close(void);

/* Bus ids come as "0000:18:00.0" (CUDA) and "00000000:18:00.0" (NVML), in upper or lower case: writes the second form in upper case. False
 * for a text that is no bus id. */
bool ct_nvml_bus(const char *text, char out[CT_NVML_BUS]);
/* Names of the bits that say why clocks are held down, "power cap, thermal (software)"; "" for none. That a card idles is no reason. */
void ct_nvml_throttle(uint64_t reasons, char *buf, size_t size);

#endif
