/* What `captrain init` writes for clips of sign language. */
#include "config.h"

#include <stdio.h>

#include "task/gloss/gloss.h"

ct_status ct_gloss_propose(const ct_seen *seen, ct_propose_put *put, void *user)
{
    char why[200];
    CT_TRY(put(user, "model.name", "tfnet-small",
               "reads clips as glosses, and trains on a processor; tfnet is the larger one, for a GPU"));
    if (seen->labels) CT_TRY(put(user, "data.train_labels", seen->labels, "the label file that was named"));
    snprintf(why, sizeof why, "pixels that the model sees; frames have %zu size%s, most often %dx%d", seen->sizes,
             seen->sizes == 1 ? "" : "s", seen->size[0].width, seen->size[0].height);
    CT_TRY(put(user, "data.height", "64", why));
    CT_TRY(put(user, "data.width", "64", "likewise; tfnet takes 256, of which it sees a square of 224 (data.crop)"));
    CT_TRY(put(user, "data.channels", seen->coloured ? "3" : "1",
               seen->coloured ? "some frames are coloured" : "all frames are gray"));
    CT_TRY(put(user, "data.mean", "0.5", "black is -1 for the model, and"));
    CT_TRY(put(user, "data.std", "0.5", "white 1"));
    CT_TRY(put(user, "augment.tempo", "0.2", "clips are made longer or shorter by up to this share"));
    CT_TRY(put(user, "augment.probability", "0.8", "so many clips are seen a little changed otherwise"));
    CT_TRY(put(user, "augment.shift", "3", "pixels moved"));
    CT_TRY(put(user, "augment.scale", "0.05", "so much larger or smaller"));
    CT_TRY(put(user, "augment.brightness", "0.1", "brighter or darker"));
    CT_TRY(put(user, "augment.contrast", "0.2", "more or less contrast"));
    CT_TRY(put(user, "optimizer.lr", "0.001", "the learning rate of gestures.yaml"));
    CT_TRY(put(user, "optimizer.weight_decay", "0.01", "holds weights small, against learning by heart"));
    CT_TRY(put(user, "optimizer.clip_grad_norm", "1", "one odd batch cannot throw the weights off"));
    CT_TRY(put(user, "optimizer.ema_decay", "0.99", "scored and kept is an average over the last steps"));
    CT_TRY(put(user, "schedule.warmup_epochs", "2", "the learning rate rises so long, then falls to 0"));
    return ct_propose_length(seen, 4, 10000, 20, 200, put, user);
}
