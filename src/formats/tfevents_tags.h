/* Tags that say where a run begins and ends. Private to the TensorBoard files. */
#ifndef CT_FORMATS_TFEVENTS_TAGS_H
#define CT_FORMATS_TFEVENTS_TAGS_H

#define CT_TFEVENTS_START "_hparams_/session_start_info"
#define CT_TFEVENTS_END "_hparams_/session_end_info"

#endif
