/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands and the program that chooses one of them. */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "experiments/study/commands.h"

extern const perp_command perp_run_command, perp_simulate_command, perp_report_command,
    perp_answer_command, perp_list_command, perp_info_command, perp_check_command,
    perp_plan_command, perp_status_command, perp_show_command, perp_doctor_command,
    perp_explain_command, perp_rerun_command, perp_ref_command, perp_merge_command,
    perp_compare_command, perp_export_command, perp_cluster_command, perp_lesson_command,
    perp_new_command, perp_completion_command, perp_version_command, perp_setup_command,
    perp_test_command;

/* In the order of the help, ended by NULL. */
extern const perp_command *const perp_commands[];

/* The whole program: perp ARGV... */
int perp_main(int argc, char **argv);

#endif
