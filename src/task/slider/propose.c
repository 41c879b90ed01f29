/* What `captrain init` writes for slider pictures. */
#include "config.h"

#include <stdio.h>

#include "task/slider/slider.h"

ct_status ct_slider_propose(const ct_seen *seen, ct_propose_put *put, void *user)
{
    char why[200];
    CT_TRY(put(user, "model.name", "slider-small",
               "finds gap and piece, and trains on a processor; slider is the larger one, for a GPU"));
    snprintf(why, sizeof why, "pixels that the model sees, a multiple of 32; pictures have %zu size%s, most often "
             "%dx%d", seen->sizes, seen->sizes == 1 ? "" : "s", seen->size[0].width, seen->size[0].height);
    CT_TRY(put(user, "data.height", "128", why));
    CT_TRY(put(user, "data.width", "256", "likewise; places are told in pixels of the picture itself"));
    CT_TRY(put(user, "data.size_rule", "letterbox",
               "pictures keep their proportions and are padded all round, whatever their sizes"));
    CT_TRY(put(user, "data.channels", "3", "the model compares colours; gray pictures are the same in all three"));
    CT_TRY(put(user, "augment.probability", "0.5", "every second picture is seen a little changed"));
    CT_TRY(put(user, "augment.brightness", "0.1", "brighter or darker"));
    CT_TRY(put(user, "augment.contrast", "0.2", "more or less contrast"));
    CT_TRY(put(user, "augment.noise", "0.02", "noise, as a share of the range from black to white"));
    CT_TRY(put(user, "heatmap.sigma", "1", "cells: how wide the place is marked that the model shall find"));
    CT_TRY(put(user, "loss.name", "slider_late", "the loss of the shipped examples"));
    CT_TRY(put(user, "optimizer.lr", "0.0025", "the learning rate of slider-small.yaml"));
    CT_TRY(put(user, "optimizer.weight_decay", "0.01", "holds weights small, against learning by heart"));
    CT_TRY(put(user, "optimizer.clip_grad_norm", "1", "one odd batch cannot throw the weights off"));
    CT_TRY(put(user, "optimizer.ema_decay", "0.999", "scored and kept is an average over the last steps"));
    CT_TRY(put(user, "schedule.warmup_epochs", "0.5", "the learning rate rises so long, then falls to 0"));
    return ct_propose_length(seen, 16, 15000, 5, 200, put, user);
}
