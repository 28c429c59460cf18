/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands and the program that chooses one of them. */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "experiments/study/verbs.h"

extern const perp_verb perp_verb_run, perp_verb_simulate, perp_verb_report, perp_verb_list,
    perp_verb_info, perp_verb_check, perp_verb_plan, perp_verb_status, perp_verb_show,
    perp_verb_doctor, perp_verb_explain, perp_verb_rerun, perp_verb_ref, perp_verb_merge,
    perp_verb_compare, perp_verb_export, perp_verb_cluster, perp_verb_lesson, perp_verb_new,
    perp_verb_completion, perp_verb_version, perp_verb_test;

/* In the order of the help, ended by NULL. */
extern const perp_verb *const perp_commands[];

/* The whole program: perp ARGV... */
int perp_main(int argc, char **argv);

#endif
