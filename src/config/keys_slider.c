/* Keys of the slider task: pictures, targets, losses, the generator, and what the files of the reference know. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/internal.h"
#include "config/keys.h"

static const ct_config_row geometry[] = {
    { LIST(letterbox.target_size, CT_KEY_INT_LIST, "[]", 0, 2, 32, 4096), .unit = "pixels", .reader = "data, models",
      .doc = "Slider models: [data.width, data.height], as the reference writes it; []: those keys alone decide." },
    { INT(letterbox.fill_value, "-1", -1, 255), .unit = "", .reader = "data",
      .doc = "Slider models: gray value of the padding, the same as data.background; -1: that key alone decides." },
    { INT(coordinate.downsample, "4", 1, 64), .unit = "pixels", .reader = "models",
      .doc = "Slider models: pixels per cell of the maps, both ways. The models have 4." },
    { BOOL(coordinate.align, "true"), .unit = "", .reader = "models",
      .doc = "Slider models: gap and piece lie in one row, so the less certain of the two is looked for again within a "
             "cell's height of the other." },
    { FLOAT(heatmap.sigma, "1.5", 0, 16), ABOVE, .unit = "cells", .reader = "models",
      .doc = "Slider models: standard deviation of the Gaussian that is the target of a point." },
    { BOOL(data_split.stratify_by_image, "true"), .unit = "", .reader = "data",
      .doc = "Slider models: data.val_fraction keeps pictures of one background (Pic number) on one side." },
};
const ct_key_table ct_keys_slider_geometry = CT_KEY_TABLE(geometry);

static const ct_config_row generated[] = {
    { LIST(data.synth.styles, CT_KEY_STR_LIST, "[]", 0, 64, -INF, INF), .unit = "", .reader = "synth",
      .doc = "Slider pictures: the styles that are drawn, each as often; []: all. `captrain gen slider --style list` "
             "describes them." },
    { LIST(data.synth.without_styles, CT_KEY_STR_LIST, "[]", 0, 64, -INF, INF), .unit = "", .reader = "synth",
      .doc = "Slider pictures: styles that are left out." },
    { LIST(data.synth.confusions, CT_KEY_STR_LIST, "[]", 0, 64, -INF, INF), .unit = "", .reader = "synth",
      .doc = "Slider pictures: what confuses, each kind as often as it stands here: none, rotation, perlin, highlight, "
             "confusing_gap, hollow_center, gap_edge_highlight, combined. []: in the reference's shares." },
    { PATH(data.synth.backgrounds, ""), .unit = "", .reader = "synth",
      .doc = "Slider pictures: folder with pictures to use as backgrounds; empty: backgrounds are drawn, too." },
    { INT(data.synth.width, "0", 0, 4096), .unit = "pixels", .reader = "synth",
      .doc = "Slider pictures: width of all of them, with data.synth.height; 0: sizes by lot, 280 to 480 wide." },
    { INT(data.synth.height, "0", 0, 4096), .unit = "pixels", .reader = "synth",
      .doc = "Slider pictures: height of all of them; 0: sizes by lot." },
};
const ct_key_table ct_keys_slider_generated = CT_KEY_TABLE(generated);

#define WORDS "auto true=yes=on false=no=off"
/* The reference's file has its keys at the top. */
#define NAMES(key) "focal." key " focal_loss." key " loss.focal_loss." key
#define WEIGHT(key) "weights." key " loss_weights." key " total_loss.weights." key " loss.total_loss.weights." key

static const ct_config_row loss[] = {
    { FLOAT(loss.focal.alpha, "1.5", 0, 10), .aliases = NAMES("alpha"), .unit = "", .reader = "models",
      .doc = "Heatmaps: exponent by which cells that are right already count less." },
    { FLOAT(loss.focal.beta, "4", 0, 16), .aliases = NAMES("beta"), .unit = "", .reader = "models",
      .doc = "Heatmaps: exponent by which cells beside a point count less as background." },
    { FLOAT(loss.focal.pos_threshold, "0.8", 0, 1), ABOVE, .aliases = NAMES("pos_threshold"), .unit = "",
      .reader = "models", .doc = "Heatmaps: cells whose target is at least this are the point's." },
    { FLOAT(loss.focal.eps, "1e-8", 0, 0.1), ABOVE, .aliases = NAMES("eps"), .unit = "", .reader = "models",
      .doc = "Heatmaps: probabilities are kept this far from 0 and 1." },
    { FLOAT(loss.offset.beta, "1", 0, 100), ABOVE, .aliases = "offset.beta offset_loss.beta loss.offset_loss.beta",
      .unit = "cells", .reader = "models",
      .doc = "Offsets: where the smooth L1 loss goes over from square to straight." },
    { BOOL(loss.offset.around, "false"), .unit = "", .reader = "models",
      .doc = "Offsets: whether cells beside a point's are to lead to it as well, as far as offsets reach; else they "
             "are to have none." },
    { FLOAT(loss.hard_negative.margin, "-1", -1, 1),
      .aliases = "hard_negative.margin hard_negative_loss.margin loss.hard_negative_loss.margin", .unit = "",
      .reader = "models",
      .doc = "By how much the gap must outdo a gap that only looks like one; -1: as loss.name says (0.2 or 0.5)." },
    { CHOICE(loss.hard_negative.reduction, "mean", "mean"),
      .aliases = "hard_negative.reduction hard_negative_loss.reduction loss.hard_negative_loss.reduction", .unit = "",
      .reader = "models", .doc = "Over false gaps of a sample, and over the samples that have any." },
    { FLOAT(loss.angle.pos_threshold, "0.7", 0, 1),
      .aliases = "angle.pos_threshold angle_loss.pos_threshold loss.angle_loss.pos_threshold", .unit = "",
      .reader = "models", .doc = "Angle: cells whose gap target is above this count." },
    { ENUM(loss.padding_bce.enabled, "auto", WORDS), .aliases = "padding_bce.enabled", .unit = "", .reader = "models",
      .doc = "Whether points in the padding cost something; auto: as loss.name says." },
    { FLOAT(loss.padding_bce.max_loss_per_pixel, "10", 0, 100), ABOVE, .aliases = "padding_bce.max_loss_per_pixel",
      .unit = "", .reader = "models", .doc = "Padding: a cell costs at most this." },
    { ENUM(loss.y_axis.enabled, "auto", WORDS), .aliases = "y_axis.enabled", .unit = "", .reader = "models",
      .doc = "Whether the rows of gap and piece are trained as such; auto: as loss.name says." },
    { FLOAT(loss.y_axis.tau, "1", 0, 100), ABOVE, .aliases = "y_axis.tau", .unit = "", .reader = "models",
      .doc = "Rows: temperature of the distribution." },
    { BOOL(loss.y_axis.log_stretch, "true"), .aliases = "y_axis.log_stretch", .unit = "", .reader = "models",
      .doc = "Rows: the distribution is made of logarithms of the means over a row. There is no other way here." },
    { FLOAT(loss.y_axis.row_ce_weight, "1", 0, 1000), .aliases = "y_axis.row_ce_weight", .unit = "", .reader = "models",
      .doc = "Rows: weight of the cross-entropy within loss.weights.y_axis." },
    { FLOAT(loss.y_axis.emd_weight, "0.3", 0, 1000), .aliases = "y_axis.emd_weight", .unit = "", .reader = "models",
      .doc = "Rows: weight of the distance between the rows of gap and piece within loss.weights.y_axis." },
    { ENUM(loss.use_angle, "auto", WORDS),
      .aliases = "use_angle total_loss.use_angle loss.total_loss.use_angle", .unit = "", .reader = "models",
      .doc = "Whether the angle of the gap is trained; auto: as loss.name says." },
    { ENUM(loss.use_hard_negative, "auto", WORDS),
      .aliases = "use_hard_negative total_loss.use_hard_negative loss.total_loss.use_hard_negative", .unit = "",
      .reader = "models", .doc = "Whether gaps that only look like one are trained against; auto: as loss.name says." },
    { FLOAT(loss.weights.heatmap, "-1", -1, 1000), .aliases = WEIGHT("heatmap"), .unit = "", .reader = "models",
      .doc = "Weight of the heatmaps in the loss; -1, here and below: as loss.name says." },
    { FLOAT(loss.weights.offset, "-1", -1, 1000), .aliases = WEIGHT("offset"), .unit = "", .reader = "models",
      .doc = "Weight of the offsets." },
    { FLOAT(loss.weights.hard_negative, "-1", -1, 1000), .aliases = WEIGHT("hard_negative"), .unit = "",
      .reader = "models", .doc = "Weight of gaps that only look like one." },
    { FLOAT(loss.weights.angle, "-1", -1, 1000), .aliases = WEIGHT("angle"), .unit = "", .reader = "models",
      .doc = "Weight of the angle." },
    { FLOAT(loss.weights.padding_bce, "-1", -1, 1000), .aliases = WEIGHT("padding_bce"), .unit = "", .reader = "models",
      .doc = "Weight of the padding." },
    { FLOAT(loss.weights.y_axis, "-1", -1, 1000), .aliases = WEIGHT("y_axis"), .unit = "", .reader = "models",
      .doc = "Weight of the rows." },
};
const ct_key_table ct_keys_slider_loss = CT_KEY_TABLE(loss);

static const ct_config_row shown[] = {
    { INT(eval.visualization.num_best_samples, "3", 0, 100), .unit = "samples", .reader = "report",
      .doc = "Slider models: best predictions that report.html shows." },
    { INT(eval.visualization.num_worst_samples, "3", 0, 100), .unit = "samples", .reader = "report",
      .doc = "Slider models: worst predictions that report.html shows. report.gallery limits all of its pictures." },
    { INT(eval.visualization.num_heatmap_samples, "6", 0, 100), .unit = "samples", .reader = "report",
      .doc = "Slider models: samples drawn by lot that report.html shows." },
    { BOOL(eval.visualization.save_predictions, "true"), .unit = "", .reader = "report",
      .doc = "Slider models: false leaves the pictures out of report.html." },
    { BOOL(eval.visualization.save_heatmaps, "true"), .unit = "", .reader = "report",
      .doc = "Slider models: whether the pictures show what the heatmaps say." },
};
const ct_key_table ct_keys_slider_shown = CT_KEY_TABLE(shown);

static const ct_config_row foreign[] = {
    { .name = "model.input_channels", .cls = CT_CLASS_MERGED, .type = CT_KEY_INT, .def = "0", .min = 1, .max = 4,
      .offset = offsetof(struct ct_config_info, input_channels), .unit = "",
      .reader = "config (becomes data.channels)",
      .doc = "data.channels. Of slider models 4 and 2 count the mask that goes with their pixels: RGB and gray." },
    { .name = "sched.warmup_epochs", .cls = CT_CLASS_MERGED, .type = CT_KEY_FLOAT, .def = "0", .min = 0, .max = 1e6,
      .offset = offsetof(struct ct_config_info, sched_warmup), .unit = "epochs",
      .reader = "config (becomes schedule.warmup_epochs or schedule.t0)",
      .doc = "schedule.warmup_epochs. In the reference's files for slider models it is something else, the first cycle "
             "of warm restarts, and becomes schedule.name: warm_restarts with schedule.t0, unless schedule.name is "
             "given." },
};
const ct_key_table ct_keys_slider_foreign = CT_KEY_TABLE(foreign);
