/* captrain fit-style: of the task whose generator it is. */
#include "config.h"

#include "base/file.h"
#include "base/sized.h"
#include "captrain.h"
#include "task/task.h"

ct_status ct_run_fit_style(const ct_fit_style_opts *given, FILE *to)
{
    ct_fit_style_opts o;
    CT_TRY(ct_sized_take(&o, sizeof o, given, "ct_fit_style_opts"));
    if (!o.folder || !o.out) return ct_fail(CT_EINVAL, "fit-style: needs a folder of pictures and --out FILE");
    if (!o.force && ct_path_exists(o.out)) return ct_fail(CT_EIO, "%s is there already: --force replaces it", o.out);
    const ct_task *task = NULL;
    for (size_t i = 0; (task = ct_task_at(i)); i++)
        if (task->fit_style) break;
    if (!task) return ct_fail(CT_EUNSUPPORTED, "fit-style: no generator has styles that can be fitted");
    CT_TRY(ct_options_check(task, "fit-style", o.option, o.noptions));
    return task->fit_style(&o, to);
}
