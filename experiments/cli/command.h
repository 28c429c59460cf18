/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands, and what several of them share. */
#ifndef PERP_COMMAND_H
#define PERP_COMMAND_H

#include "experiments/results/join.h"
#include "experiments/run/trial.h"
#include "experiments/study/commands.h"

extern const perp_command perp_run_command, perp_simulate_command, perp_gradient_command,
    perp_report_command, perp_answer_command, perp_list_command, perp_info_command,
    perp_check_command, perp_plan_command, perp_status_command, perp_show_command,
    perp_doctor_command, perp_explain_command, perp_rerun_command, perp_ref_command,
    perp_merge_command, perp_compare_command, perp_export_command, perp_cluster_command,
    perp_lesson_command, perp_new_command, perp_version_command, perp_setup_command,
    perp_site_command, perp_submit_command, perp_test_command, perp_why_command_desc;

/* The study that args->arg[0] names, with the --set of args; -1 and *study, or an exit status after
 * a message. */
int perp_command_study(perp_ctx *ctx, const perp_args *args, perp_study **study);
/* The same with its cells; refuse: values that no cell uses are errors. */
int perp_command_plan(perp_ctx *ctx, const perp_args *args, bool refuse, perp_study **study,
                      perp_plan *plan);
/* Which cells can be set up, unless --quick is given; -1, or an exit status after a message. */
int perp_command_try(perp_ctx *ctx, const perp_args *args, const perp_study *study,
                     const perp_plan *plan, perp_trial *trial);
/* perp check of the folder of a lesson, or of the file of a course. */
int perp_command_check_lesson(perp_ctx *ctx, const perp_args *args);
/* --output, or results/NAME; free it. */
char *perp_command_folder(const perp_args *args, const perp_study *study);
/* The command line that runs a cell alone, to be freed; NULL where the kind has none. */
char *perp_command_alone(const perp_study *study, const perp_cell *cell);
/* Members of a record that is a run: how many problems it met, and what became of them. */
void perp_command_record_json(perp_json *json, const perp_record *record);
/* Index of the cell that an id or its beginning names; -1 after a message. */
int perp_command_cell(const perp_args *args, const perp_plan *plan, const char *id);
/* Run one cell in a child with the limits of its study; what it prints goes to stderr
 * afterwards. */
perp_status perp_command_run_cell(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome);
/* Seconds that all cells and timing rounds of a plan would take on one core, from up to five that
 * are run now; NaN with a message in ctx when one cannot be started. */
double perp_command_pilot(perp_ctx *ctx, const perp_study *study, const perp_plan *plan);

#endif
