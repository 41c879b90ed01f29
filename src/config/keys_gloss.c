/* Keys of the task of sign language: labels, lengths of clips, the generator, its loss. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/internal.h"
#include "config/keys.h"

static const ct_config_row labels[] = {
    { PATH(data.train_labels, ""), .aliases = "dataset.train_label_path Path.trainLabelPath", .unit = "",
      .reader = "data",
      .doc = "Sign language: label file of the clips in data.train (csv with Number, Translator and Gloss, or "
             "id|folder|signer|annotation); empty: FOLDER.csv beside FOLDER, or FOLDER.corpus.csv." },
    { PATH(data.val_labels, ""), .aliases = "dataset.valid_label_path Path.validLabelPath", .unit = "",
      .reader = "data", .doc = "Sign language: the same for data.val." },
    { PATH(data.test_labels, ""), .aliases = "dataset.test_label_path Path.testLabelPath", .unit = "",
      .reader = "data", .doc = "Sign language: the same for data.test." },
    { PATH(data.vocab, "all"), .values = "all train", .unit = "", .reader = "data",
      .doc = "Sign language: the words a model knows. all: those of the labels of training, validation and test, as "
             "the reference has it; train: of data.train; else a file: vocabulary.json of a run, or a word in each "
             "line." },
    { INT(data.max_frames, "0", 0, 100000), .aliases = "dataset.max_frames", .unit = "frames", .reader = "data",
      .doc = "Sign language: of a longer clip so many frames are taken, evenly spaced; 0: all." },
    { INT(data.frames_step, "16", 4, 4096), .unit = "frames", .reader = "data",
      .doc = "Sign language: in training, clips of a batch are made as long as the longest and a multiple of this, so "
             "that few programs are needed; rounded up to a multiple of what the model asks." },
    { .name = "dataset.crop_size", .cls = CT_CLASS_MERGED, .type = CT_KEY_INT, .def = "0", .min = 0, .max = 4096,
      .offset = offsetof(struct ct_config_info, crop_size), .unit = "pixels", .reader = "data.height, data.width",
      .doc = "What pictures are resized to, both sides, as the program it comes from has it (it crops nothing)." },
};
const ct_key_table ct_keys_gloss_labels = CT_KEY_TABLE(labels);

static const ct_config_row generated[] = {
    { INT(data.synth.words, "40", 2, 200), .unit = "words", .reader = "synth",
      .doc = "Gestures: words there are." },
    { INT(data.synth.signers, "8", 1, 26), .unit = "signers", .reader = "synth",
      .doc = "Gestures: signers there are; of several, one is seen in tests only." },
    { INT(data.synth.glosses_min, "2", 1, 12), .unit = "glosses", .reader = "synth",
      .doc = "Gestures: fewest glosses of a clip." },
    { INT(data.synth.glosses_max, "5", 1, 12), .unit = "glosses", .reader = "synth",
      .doc = "Gestures: most glosses of a clip." },
};
const ct_key_table ct_keys_gloss_generated = CT_KEY_TABLE(generated);

static const ct_config_row tempo[] = {
    { FLOAT(augment.tempo, "0", 0, 0.5), .unit = "share", .reader = "data",
      .doc = "Sign language: clips are made longer or shorter by up to this share, by frames left out or shown twice, "
             "within 32 and 230 frames." },
};
const ct_key_table ct_keys_gloss_tempo = CT_KEY_TABLE(tempo);

static const ct_config_row loss[] = {
    { LIST(loss.ctc_weights, CT_KEY_FLOAT_LIST, "[1, 1, 1, 1, 1]", 5, 5, 0, 1000), .unit = "", .reader = "models",
      .doc = "Sign language: weights of the CTC losses of the five scores: of the first branch's LSTM and "
             "convolutions, of the second's, and of both LSTMs together, which are those that are read." },
    { FLOAT(loss.kd_weight, "25", 0, 1000), .unit = "", .reader = "models",
      .doc = "Sign language: weight of the two losses by which the convolutions' scores follow those of the LSTM "
             "behind them; 0: none." },
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
