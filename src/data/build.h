/* Samples -> packed pixels, through the cache. */
#ifndef CT_DATA_BUILD_H
#define CT_DATA_BUILD_H

#include <stdbool.h>

#include "base/status.h"
#include "data/dataset.h"
#include "data/pack.h"
#include "data/scan.h"

ct_pack_shape ct_fit_shape(const ct_dataset_spec *spec);
/* The true width that a picture of w x h pixels gets by the size rule, and the width of the bucket for a true width. */
int ct_fit_width(const ct_dataset_spec *spec, int w, int h);
int ct_fit_bucket(const ct_dataset_spec *spec, int width);

/* How a picture of w x h pixels comes to its place by the size rule; w or h 0: nothing moves. */
void ct_fit_of(const ct_dataset_spec *spec, int w, int h, ct_fit *out);

/* Whether a picture of w x h pixels can be brought to the geometry of spec: CT_EDATA names both sizes if not. */
ct_status ct_fit_check(const ct_dataset_spec *spec, const char *name, int w, int h);
/* Brings a decoded picture to the geometry of spec (height and width above 0), in place: resize or refuse, channels,
 * padding: im->w is then the width of its bucket. *width (may be NULL): its true width. CT_EDATA names both sizes. */
ct_status ct_fit_image(const ct_dataset_spec *spec, const char *name, ct_image *im, int *width);

/* A picture from the bytes of a file, brought to the geometry of spec; *width (may be NULL): its true width. */
ct_status ct_build_decode(const ct_dataset_spec *spec, const char *name, const uint8_t *data, size_t size,
                          ct_image *out, int *width);

/* The pixels of `n` files, or these themselves, by spec->keep, which becomes what was chosen. name[i]: relative to dir.
 * spec->height and width may be 0 unless the rule is fit_height or letterbox: they are set from the first file that
 * decodes. Files that cannot be used become bad items. *cached: they
 * came from the cache. key: 32 digits. */
ct_status ct_build_files(ct_dataset_spec *spec, const char *dir, const char *const *name, int64_t n, int workers,
                         ct_pack *out, char key[33], bool *cached);
/* Frames that clip i of a generator, 0.., gives a set; 1 where it draws pictures. */
int ct_source_frames(const ct_dataset_spec *spec, const ct_source *src, int64_t i);
/* The pixels and labels of a generator, those of a clip at its first frame. A failing sample is an error. */
ct_status ct_build_source(ct_dataset_spec *spec, const ct_source *src, int workers, ct_pack *out, char key[33],
                          bool *cached);

#endif
