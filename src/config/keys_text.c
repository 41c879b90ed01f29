/* Keys of the text task: characters, labels, the generator of texts. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/keys.h"

static const ct_config_row model[] = {
    { INT(model.classes, "0", 0, 1048576), .aliases = "model.num_classes", .unit = "classes", .reader = "models",
      .doc = "Classes of a position. They are the characters of the charset; another number than the charset has is an "
             "error, 0 says nothing." },
};
const ct_key_table ct_keys_text_model = CT_KEY_TABLE(model);

static const ct_config_row labels[] = {
    { PATH(data.labels, ""), .unit = "", .reader = "data",
      .doc = "Label file of the folder data.train: csv, tsv, jsonl, or lines of name and text. Empty: one that is "
             "called as doc/formats.md says (labels.csv, gt.txt, metadata.jsonl ...), else the names of the pictures. "
             "data.train itself may be one." },
    { PATH(data.root, ""), .unit = "", .reader = "data",
      .doc = "Folder that the names in label files are relative to, and that absolute ones must be in; empty: the "
             "label file's own folder, or images/ in it." },
    { STRING(data.charset, ""), .unit = "", .reader = "data",
      .doc = "The characters a label may have, in class order (UTF-8); empty: the sorted characters of the training "
             "labels." },
    { INT(data.length, "0", 0, 64), .unit = "characters", .reader = "data",
      .doc = "Characters per label; 0: taken from the training labels, which must all have the same length. A model "
             "that reads text of any length (crnn...) takes it for the most characters; 0: any." },
    { ENUM(data.letter_case, "keep", "keep upper lower"), .aliases = "data.case", .unit = "", .reader = "data",
      .doc = "Folds the letters of labels to upper or lower case." },
    { STRING(data.label_separator, "_"), .unit = "", .reader = "data",
      .doc = "Separates the label from the rest of a file name (ABCD_123.png), up to 15 bytes; empty: the whole name "
             "without its suffix." },
    { ENUM(data.label_side, "before", "before=left=first after=right=last"), .unit = "", .reader = "data",
      .doc = "The label stands before the first, or after the last, separator." },
};
const ct_key_table ct_keys_text_labels = CT_KEY_TABLE(labels);

static const ct_config_row style[] = {
    { STRING(data.synth.style, "simple"), .unit = "", .reader = "synth",
      .doc = "Style of the built-in generator (`captrain gen text --style list` lists them), or a file of its "
             "parameters: doc/generator.md." },
};
const ct_key_table ct_keys_text_style = CT_KEY_TABLE(style);

static const ct_config_row length[] = {
    { INT(data.synth.length, "4", 1, 64), .unit = "characters", .reader = "synth",
      .doc = "Characters per generated image." },
    { INT(data.synth.length_min, "0", 0, 64), .unit = "characters", .reader = "synth",
      .doc = "Least characters per generated image, for labels of different lengths; 0: data.synth.length." },
    { INT(data.synth.length_max, "0", 0, 64), .unit = "characters", .reader = "synth",
      .doc = "Most characters per generated image; 0: data.synth.length." },
    { LIST(data.synth.fonts, CT_KEY_STR_LIST, "[]", 0, 16, -INF, INF), .unit = "", .reader = "synth",
      .doc = "Fonts, one by lot for each character: names looked up in CAPTRAIN_FONT_PATH and the system's font "
             "folders, or paths; []: the style's own. Each must have every character." },
    { LIST(data.synth.sizes, CT_KEY_FLOAT_LIST, "[]", 0, 8, 4, 400), .unit = "pixels", .reader = "synth",
      .doc = "Sizes of the letters, one by lot for each: pixels per em in an image 60 pixels high; []: the style's "
             "own." },
};
const ct_key_table ct_keys_text_length = CT_KEY_TABLE(length);

static const ct_config_row select_by[] = {
    { STRING(eval.select_by, "auto"), .unit = "", .reader = "trainer",
      .doc = "What decides which weights are the best, and early stopping: a metric of the task (text: "
             "string_accuracy, char_accuracy, loss, cer: edits per character). auto: the task's own, of text "
             "string_accuracy; last: those of the end, stopping as with auto." },
};
const ct_key_table ct_keys_text_select = CT_KEY_TABLE(select_by);
