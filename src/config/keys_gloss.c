/* Keys of the task of sign language: its loss. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/internal.h"
#include "config/keys.h"

static const ct_config_row loss[] = {
    { LIST(loss.ctc_weights, CT_KEY_FLOAT_LIST, "[1, 1, 1, 1, 1]", 5, 5, 0, 1000), .unit = "", .reader = "models",
      .doc = "Sign language: weights of the CTC losses of the five scores: of the first branch's LSTM and convolutions, "
             "of the second's, and of both LSTMs together, which are those that are read." },
    { FLOAT(loss.kd_weight, "25", 0, 1000), .unit = "", .reader = "models",
      .doc = "Sign language: weight of the two losses by which the convolutions' scores follow those of the LSTM behind "
             "them; 0: none." },
    { FLOAT(loss.kd_temperature, "8", 0, 1000), ABOVE, .unit = "", .reader = "models",
      .doc = "Sign language: what scores are divided by before they are compared that way." },
    { BOOL(loss.kd_mask, "false"), .unit = "", .reader = "models",
      .doc = "Sign language: whether the time steps behind a shorter clip are left out of that comparison. The "
             "reference counts them." },
    { BOOL(loss.kd_detach, "false"), .unit = "", .reader = "models",
      .doc = "Sign language: whether that comparison trains the convolutions alone. In the reference it draws the LSTM "
             "towards them, too." },
    { .name = "loss.ctc_blank_id", .cls = CT_CLASS_MERGED, .type = CT_KEY_INT, .def = "0", .min = 0, .max = 0,
      .offset = offsetof(struct ct_config_info, ctc_blank), .unit = "", .reader = "config (must be 0)",
      .doc = "The blank is class 0, always." },
    { .name = "loss.ctc_reduction", .cls = CT_CLASS_MERGED, .type = CT_KEY_ENUM, .def = "mean", .values = "mean",
      .offset = offsetof(struct ct_config_info, ctc_reduction), .unit = "", .reader = "config (must be mean)",
      .doc = "CTC losses are averaged over the samples, always." },
};
const ct_key_table ct_keys_gloss_loss = CT_KEY_TABLE(loss);
